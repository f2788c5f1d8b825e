"""Bars, arrows and spines as SVG. No text lives in an SVG: widths are percentages and stretch, heights are pixels."""

from collections.abc import Iterable

from numa_exporter.page.columns import Columns
from numa_exporter.page.lanes import Lane
from numa_exporter.page.ledger import Row
from numa_exporter.page.locality import Locality
from numa_exporter.page.markup import NOTHING, Markup, join, tag
from numa_exporter.page.words import decimal

PITCH, BAR, TOP = 18, 12, 3  # px: from lane to lane, height of a bar, above the first bar
HEIGHT = 3 * PITCH
GAP = 28  # px: width of the drawing between two sockets
LEAST_PERCENT = 0.6  # of the column: a sliver that can still be seen
LEAST_CROSSING = 0.05  # of the lane: below this no arrow is drawn


def fill(lane: Lane, node: int) -> str:
    """The bar's class: local, socket, remote (under the limit), against (with verdict), unjudged."""
    where = lane.classes.get(node, Locality.UNKNOWN)
    if where is Locality.UNKNOWN or (lane.not_judged and not lane.against):
        return "unjudged"
    if where is Locality.REMOTE and lane.against:
        return "against"
    return str(where.value)


def bars(row: Row, columns: Columns, position: int) -> Markup:
    """The three bars of one node's column, each as long as the share of its lane's total on that node."""
    node = columns.tracks[position]
    if node is None:
        return NOTHING
    return join(
        (_spine(lane, row, columns, position), _bar(lane, node, y, columns.mirrored and position == 0))
        for lane, y in _placed(row.lanes)
    )


def cell(row: Row, columns: Columns, position: int) -> Markup:
    """One column of a row, tinted where it is a home of the rank."""
    home = columns.tracks[position] in row.rank.home
    drawing = tag("svg", bars(row, columns, position), class_="lane-marks", aria_hidden="true")
    return tag("div", drawing, class_="cell home" if home else "cell")


def crossing(row: Row, columns: Columns, position: int) -> Markup:
    """The gap between two sockets: an arrow for each lane of which a twentieth or more lies beyond it."""
    drawing = tag(
        "svg",
        (_arrow(lane, row, columns, position, y) for lane, y in _placed(row.lanes)),
        class_="lane-marks",
        viewBox=f"0 0 {GAP} {HEIGHT}",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
    return tag("div", drawing, class_="gap")


def _placed(lanes: Iterable[Lane]) -> Iterable[tuple[Lane, int]]:
    return ((lane, TOP + PITCH * index) for index, lane in enumerate(lanes))


def _bar(lane: Lane, node: int, y: int, leftwards: bool) -> Markup:
    share = lane.share(node)
    if share <= 0:
        return NOTHING
    width = max(share * 100, LEAST_PERCENT)
    x = decimal(100 - width) if leftwards else "0"
    return tag("rect", class_=fill(lane, node), x=f"{x}%", y=y, width=f"{decimal(width)}%", height=BAR)


def _spine(lane: Lane, row: Row, columns: Columns, position: int) -> Markup:
    """A thin line from the gap on to the farthest remote node, where slivers alone would not carry the eye."""
    node = columns.tracks[position]
    start = _home_position(row, columns)
    if node is None or columns.mirrored or start is None or not lane.against:
        return NOTHING
    if lane.classes.get(node, Locality.REMOTE) is not Locality.REMOTE or not _is_beyond(columns, start, position):
        return NOTHING
    rightwards = position > start
    far = [p for n in lane.remote_nodes if (p := columns.position(n)) is not None and (p > start) is rightwards]
    stop = (max if rightwards else min)(far, default=None)
    if stop is None or (position > stop if rightwards else position < stop):
        return NOTHING
    ends_here = rightwards and position == stop
    width = max(lane.share(node) * 100, LEAST_PERCENT) if ends_here else 100
    y = TOP + PITCH * row.lanes.index(lane) + BAR // 2 - 1
    return tag("rect", class_="against", x="0", y=y, width=f"{decimal(width)}%", height=2)


def _arrow(lane: Lane, row: Row, columns: Columns, position: int, y: int) -> Markup:
    """Full bar height with a verdict, thin and hatched without; it points away from home."""
    sides = {at > position for node in row.rank.home if (at := columns.position(node)) is not None}
    if len(sides) != 1 or (lane.not_judged and not lane.against):
        return NOTHING
    from_right = sides.pop()
    beyond = columns.tracks[:position] if from_right else columns.tracks[position + 1 :]
    if sum(lane.share(node) for node in lane.remote_nodes if node in beyond) < LEAST_CROSSING:
        return NOTHING
    half = BAR / 2 if lane.against else 1.5
    middle = y + BAR / 2
    outline = (
        (0, middle - half),
        (18, middle - half),
        (18, middle - half - 3),
        (GAP, middle),
        (18, middle + half + 3),
        (18, middle + half),
        (0, middle + half),
    )
    points = (f"{decimal(GAP - x if from_right else x)} {decimal(height)}" for x, height in outline)
    return tag("path", class_="against" if lane.against else "remote", d=f"M{'L'.join(points)}Z")


def _home_position(row: Row, columns: Columns) -> int | None:
    return next((at for node in row.rank.home if (at := columns.position(node)) is not None), None)


def _is_beyond(columns: Columns, start: int, position: int) -> bool:
    """Whether a gap lies between the home and this column."""
    return None in columns.tracks[min(start, position) : max(start, position)]
