"""One rank as a row: label, lanes, a cell per column, numbers. For speech all of it is one sentence instead."""

from numa_exporter.page.columns import Columns
from numa_exporter.page.document import Helper
from numa_exporter.page.lanes import Lane
from numa_exporter.page.ledger import Row
from numa_exporter.page.marks import cell, crossing
from numa_exporter.page.markup import Markup, hidden_text, tag
from numa_exporter.page.spoken import home_words, sentence
from numa_exporter.page.words import NBSP, percent

REASON_FITS = 16  # characters that have room in place of a number
TRIANGLE = tag("span", "▲", class_="triangle", aria_hidden="true")
WORTH_AN_AMOUNT = 0.01


def draw(row: Row, columns: Columns) -> Markup:
    """The row of one rank."""
    tracks = (
        crossing(row, columns, position) if track is None else cell(row, columns, position)
        for position, track in enumerate(columns.tracks)
    )
    mark = (" ", TRIANGLE) if row.against else None
    label = (tag("b", row.name, mark), tag("span", home_words(row)), tag("span", "doubtful") if row.doubted else None)
    return tag(
        "li",
        hidden_text(sentence(row)),
        tag("div", label, class_="who", aria_hidden="true"),
        tag("div", (tag("span", x.dimension.label) for x in row.lanes), class_="lane-names", aria_hidden="true"),
        tracks,
        tag("div", (number(lane) for lane in row.lanes), class_="numbers", aria_hidden="true"),
        class_="row bad" if row.against else "row",
    )


def number(lane: Lane) -> Markup:
    """Published ratio and remote amount, bold with a verdict; or why there is none."""
    if lane.not_judged and not lane.against:
        return tag("i", lane.not_judged if len(lane.not_judged) <= REASON_FITS else "not judged")
    if lane.ratio is None:
        return tag("b" if lane.against else "i", "against the grain" if lane.against else "not judged")
    amount = f" · {lane.remote_amount}" if lane.ratio >= WORTH_AN_AMOUNT else ""
    return tag("b" if lane.against else "span", f"{percent(lane.ratio)}{amount}")


def draw_helper(helper: Helper) -> Markup:
    """A process without a GPU, in words: it gets no verdict and no marks."""
    total = sum(helper.cpu_seconds.values())
    shares = sorted(helper.cpu_seconds.items())
    split = ", ".join(f"{percent(x / total)} node{NBSP}{node}" for node, x in shares) if total else "none seen"
    pid = f" (pid {helper.pid})" if helper.pid is not None else ""
    words = f" {helper.comm}{pid}: CPU time {split}. Holds no GPU, gets no verdict."
    return tag("li", tag("b", "helper"), words, class_="helper")
