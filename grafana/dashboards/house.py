"""What all three dashboards share: the data source, variables, links and colours.

Colours are Grafana's own names: they have a light and a dark form. Red is only ever a verdict, never a quantity.
"""

from collections.abc import Iterable

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import prometheus
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models import prometheus as query_models

SOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
Piece = Builder[models.Panel] | build.Row
"""What a dashboard is put together from."""
RANK = "cluster,node,namespace,pod,container,unit,uuid"
"""What makes a rank unique in a fleet: the labels that the recording rules keep."""
TAG = "numa"

GREEN, RED, ORANGE, BLUE, GREY = "green", "red", "orange", "blue", "text"
LOCALITY = {"local": GREEN, "socket": "light-green", "remote": ORANGE, "device": "purple"}
STATE = {"aligned": GREEN, "misaligned": RED, "unknown": GREY, "unused": BLUE}

UIDS = {"fleet": "numa-fleet", "node": "numa-node", "workload": "numa-workload"}
KEEP = "${datasource:queryparam}&${cluster:queryparam}&${__url_time_range}"


def target(expr: str, legend: str = "", *, ref: str = "A", instant: bool = False) -> prometheus.Dataquery:
    """One query: over the range, or at its end for tables and single numbers."""
    query = prometheus.Dataquery().expr(expr).ref_id(ref).legend_format(legend or "__auto")
    if instant:
        return query.instant().format(query_models.PromQueryFormat.TABLE)
    return query.range()


def variable(name: str, label: str, metric: str, said: str, *, all_too: bool = True) -> build.QueryVariable:
    """The values of label ``name`` in a metric, narrowed by the variables before it. "All" is any value or none;
    without it, one value, or none where nothing has the label."""
    made = (
        build.QueryVariable(name)
        .label(label)
        .description(said)
        .datasource(SOURCE)
        .query(f"label_values({metric}, {name})")
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
        .multi(all_too)
        .include_all(all_too)
    )
    if not all_too:
        return made
    return made.all_value(".*").current(models.VariableOption(text="All", value="$__all"))


def datasource() -> build.DatasourceVariable:
    return build.DatasourceVariable("datasource").label("Data source").type("prometheus")


def cluster() -> build.QueryVariable:
    return variable("cluster", "Cluster", "numa_exporter_host_info", "External or target label; may be absent.")


def annotation(where: str) -> build.AnnotationQuery:
    """The first five minutes of each warning that is in force and was not declared intended."""
    what = f'numa:findings:open{{level="warning",{where}}}'
    by = "cluster,node,namespace,pod,unit,code"
    return (
        build.AnnotationQuery()
        .name("Findings")
        .datasource(SOURCE)
        .enable(True)
        .icon_color(ORANGE)
        .expr(f"sum by ({by}) ({what}) unless sum by ({by}) ({what} offset 5m)")
        .title_format("{{code}}")
        .text_format("{{namespace}} {{pod}} {{unit}} on {{node}}")
        .tag_keys("code,node")
        .step("1m")
    )


def dashboard(name: str, title: str, said: str) -> build.Dashboard:
    """An empty dashboard with the house's frame: links to the other two, an hour and a half, a refresh."""
    made = (
        build.Dashboard(title)
        .uid(UIDS[name])
        .description(said)
        .tags([TAG, "gpu"])
        .time("now-6h", "now")
        .refresh("1m")
        .timezone("browser")
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .with_variable(datasource())
        .with_variable(cluster())
    )
    for other, uid in UIDS.items():
        if other != name:
            made = made.link(
                build.DashboardLink(f"NUMA {other}")
                .type(models.DashboardLinkType.LINK)
                .url(f"/d/{uid}?{KEEP}")
                .icon("dashboard")
            )
    return made


def filled(made: build.Dashboard, pieces: Iterable[Piece]) -> build.Dashboard:
    """The dashboard with panels and rows, which Grafana lays out from left to right."""
    for piece in pieces:
        made = made.with_row(piece) if isinstance(piece, build.Row) else made.with_panel(piece)
    return made


def steps(*pairs: tuple[float | None, str]) -> build.ThresholdsConfig:
    found = [models.Threshold(value=value, color=color) for value, color in pairs]
    return build.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(found)


REMOTE_STEPS = ((None, GREEN), (0.1, "yellow"), (0.2, ORANGE))
"""Half the limit of the memory verdict, and the limit: colours of a share, which is not a verdict."""


def link(title: str, url: str) -> build.DashboardLink:
    return build.DashboardLink(title).url(url)


def fixed(color: str) -> models.DynamicConfigValue:
    return models.DynamicConfigValue(id_val="color", value={"mode": "fixed", "fixedColor": color})
