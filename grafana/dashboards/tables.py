"""Tables: one row for each set of keys, one column for each query."""

from collections.abc import Mapping, Sequence

from grafana_foundation_sdk.builders import common, prometheus, table
from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.models import dashboard as models

from .house import SOURCE, target


def rows(
    title: str,
    said: str,
    columns: Sequence["Column"],
    *,
    keys: Sequence[str],
    span: int = 24,
    height: int = 9,
    links: Mapping[str, build.DashboardLink] | None = None,
    sort: str | None = None,
) -> table.Panel:
    """A table: one row for each set of ``keys``, one column for each query; what is not named is hidden."""
    panel = (
        table.Panel()
        .title(title)
        .description(said)
        .datasource(SOURCE)
        .span(span)
        .height(height)
        .no_value("–")
        .filterable(True)
        .targets([column.query(number) for number, column in enumerate(columns)])
        .with_transformation(models.DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(_organized(columns, keys))
    )
    if sort:
        panel = panel.sort_by([common.TableSortByFieldState().display_name(sort).desc(True)])
    for column in columns:
        panel = panel.override_by_name(column.title, column.looks())
    for key, target_link in (links or {}).items():
        value = [{"title": target_link.build().title, "url": target_link.build().url}]
        panel = panel.override_by_name(key, [models.DynamicConfigValue(id_val="links", value=value)])
    return panel


class Column:
    """One column of a table. Labels that the query's result still has, beyond the keys, are columns too if named."""

    def __init__(
        self,
        title: str,
        expr: str,
        *,
        unit: str = "short",
        thresholds: Sequence[tuple[float | None, str]] = (),
        labels: Sequence[str] = (),
        hidden: bool = False,
    ) -> None:
        self.title = title
        self.expr = expr
        self.unit = unit
        self.thresholds = thresholds
        self.labels = tuple(labels)
        self.hidden = hidden

    @staticmethod
    def ref(place: int) -> str:
        return chr(ord("A") + place)

    def query(self, place: int) -> prometheus.Dataquery:
        return target(self.expr, ref=self.ref(place), instant=True)

    def looks(self) -> list[models.DynamicConfigValue]:
        found = [models.DynamicConfigValue(id_val="unit", value=self.unit)]
        if self.thresholds:
            told = [{"value": value, "color": color} for value, color in self.thresholds]
            found += [
                models.DynamicConfigValue(id_val="thresholds", value={"mode": "absolute", "steps": told}),
                models.DynamicConfigValue(id_val="color", value={"mode": "thresholds"}),
                models.DynamicConfigValue(id_val="custom.cellOptions", value={"type": "color-text"}),
            ]
        return found


def _organized(columns: Sequence[Column], keys: Sequence[str]) -> models.DataTransformerConfig:
    """The keys first, then each query's labels and value, in the order of the columns."""
    order: list[str] = list(keys)
    names: dict[str, str] = {}
    for place, column in enumerate(columns):
        # Where one query makes the table, Grafana calls its values plainly "Value".
        value = f"Value #{Column.ref(place)}" if len(columns) > 1 else "Value"
        order += [*column.labels, *(() if column.hidden else (value,))]
        names[value] = column.title
    hidden = {f"Value #{Column.ref(place)}": True for place, column in enumerate(columns) if column.hidden}
    return models.DataTransformerConfig(
        id_val="organize",
        options={
            "indexByName": {name: place for place, name in enumerate(order)},
            "renameByName": names,
            "excludeByName": {"Time": True, **hidden},
        },
    )
