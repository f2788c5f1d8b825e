"""The shapes of panels: lines over time, numbers, heat maps, states."""

from collections.abc import Mapping

from grafana_foundation_sdk.builders import common, heatmap, prometheus, stat, statetimeline, timeseries
from grafana_foundation_sdk.models import common as common_models
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models import heatmap as heatmap_models

from .house import GREY, SOURCE, fixed, steps, target


def lines(
    title: str,
    said: str,
    unit: str,
    *targets: prometheus.Dataquery,
    span: int = 12,
    height: int = 8,
    stacked: bool = False,
    colors: Mapping[str, str] | None = None,
    top: float | None = None,
) -> timeseries.Panel:
    """Something over time. ``colors`` by the value that the legend shows."""
    panel = (
        timeseries.Panel()
        .title(title)
        .description(said)
        .datasource(SOURCE)
        .unit(unit)
        .min(0)
        .span(span)
        .height(height)
        .line_width(1)
        .fill_opacity(30 if stacked else 5)
        .show_points(common_models.VisibilityMode.NEVER)
        .legend(
            common.VizLegendOptions()
            .display_mode(common_models.LegendDisplayMode.LIST)
            .placement(common_models.LegendPlacement.BOTTOM)
            .show_legend(True)
        )
        .tooltip(
            common.VizTooltipOptions()
            .mode(common_models.TooltipDisplayMode.MULTI)
            .sort(common_models.SortOrder.DESCENDING)
        )
        .targets(list(targets))
    )
    if top is not None:
        panel = panel.max(top)
    if stacked:
        panel = panel.stacking(common.StackingConfig().mode(common_models.StackingMode.NORMAL))
    for name, color in (colors or {}).items():
        panel = panel.override_by_regexp(rf"/\b{name}\b/", [fixed(color)])
    return panel


def number(
    title: str,
    said: str,
    unit: str,
    expr: str,
    *thresholds: tuple[float | None, str],
    span: int = 4,
    height: int = 4,
    colors: Mapping[str, str] | None = None,
    legend: str = "",
) -> stat.Panel:
    """A number, or one for each series, with its recent course."""
    panel = (
        stat.Panel()
        .title(title)
        .description(said)
        .datasource(SOURCE)
        .unit(unit)
        .span(span)
        .height(height)
        .no_value("none")
        .color_mode(common_models.BigValueColorMode.VALUE)
        .graph_mode(common_models.BigValueGraphMode.AREA)
        .thresholds(steps(*(thresholds or ((None, GREY),))))
        .with_target(target(expr, legend))
    )
    for name, color in (colors or {}).items():
        panel = panel.override_by_name(name, [fixed(color)])
    return panel


def heat(title: str, said: str, unit: str, query: prometheus.Dataquery, *, span: int = 12) -> heatmap.Panel:
    """Rows that already are buckets: one for each series."""
    return (
        heatmap.Panel()
        .title(title)
        .description(said)
        .datasource(SOURCE)
        .span(span)
        .height(8)
        .calculate(False)
        .color(
            heatmap.HeatmapColorOptions()
            .mode(heatmap_models.HeatmapColorMode.SCHEME)
            .scheme("Blues")
            .steps(32)
            .exponent(0.5)
        )
        .cell_gap(1)
        .cell_values(heatmap.CellValues().unit(unit))
        .rows_frame(heatmap.RowsHeatmapOptions().layout(common_models.HeatmapCellLayout.UNKNOWN))
        .show_legend()
        .exemplars_color("purple")
        .with_target(query)
    )


def timeline(
    title: str, said: str, query: prometheus.Dataquery, words: Mapping[int, tuple[str, str]], *, span: int = 12
) -> statetimeline.Panel:
    """States over time. ``words``: text and colour for each value."""
    options = {
        str(value): models.ValueMappingResult(text=text, color=color, index=place)
        for place, (value, (text, color)) in enumerate(words.items())
    }
    return (
        statetimeline.Panel()
        .title(title)
        .description(said)
        .datasource(SOURCE)
        .span(span)
        .height(8)
        .mappings([models.ValueMap(options=options)])
        .show_value(common_models.VisibilityMode.NEVER)
        .thresholds(steps((None, GREY)))
        .with_target(query)
    )
