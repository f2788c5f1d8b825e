"""Every number drawn, against one computed by hand from the report."""

import pytest

from numa_exporter.page.columns import Columns
from numa_exporter.page.document import Document
from numa_exporter.page.ledger import Row, build
from numa_exporter.page.marks import bars, cell, crossing
from numa_exporter.page.rows import number
from tests.page.parsed import Element, parse
from tests.page.reports import GIB, machine, node, rank, report, stored, workload

Mark = tuple[str, str, str, str, str]


def row_of(document: dict[str, object], name: str) -> tuple[Row, Columns]:
    ledger = build(Document.read(document))
    (row,) = [row for row in ledger.rows if row.name == name]
    return row, ledger.columns


def drawn(row: Row, columns: Columns, position: int) -> list[Mark]:
    """(class, x, y, width, height) of each rectangle of one column."""
    rects = parse(bars(row, columns, position)).every("rect")
    return [tuple(r.attributes[a] for a in ("class", "x", "y", "width", "height")) for r in rects]  # type: ignore[misc]


def arrows(row: Row, columns: Columns, position: int) -> list[Element]:
    return parse(crossing(row, columns, position)).every("path")


def numbers(row: Row) -> list[tuple[str, str]]:
    return [(e.tag, e.text) for lane in row.lanes for e in parse(number(lane)).every()]


def test_bars_of_a_rank_across_two_sockets() -> None:
    # CPU 22 of 263 s, memory 18.7 of 37.4 GiB, buffers 5.1 of 6.4 GiB on node 0; home is node 1
    row, columns = row_of(stored("two-socket"), "GPU 6")
    assert drawn(row, columns, 0) == [
        ("remote", "91.63%", "3", "8.37%", "12"),  # grows leftwards from the gap
        ("against", "50%", "21", "50%", "12"),
        ("against", "20.31%", "39", "79.69%", "12"),
    ]
    assert drawn(row, columns, 2) == [
        ("local", "0%", "3", "91.63%", "12"),
        ("local", "0%", "21", "50%", "12"),
        ("local", "0%", "39", "20.31%", "12"),
    ]


def test_arrows_point_away_from_home() -> None:
    row, columns = row_of(stored("two-socket"), "GPU 6")
    found = [(arrow.attributes["class"], arrow.attributes["d"]) for arrow in arrows(row, columns, 1)]
    assert found == [
        ("remote", "M28 7.5L10 7.5L10 4.5L0 9L10 13.5L10 10.5L28 10.5Z"),  # 8 % under the limit: thin
        ("against", "M28 21L10 21L10 18L0 27L10 36L10 33L28 33Z"),
        ("against", "M28 39L10 39L10 36L0 45L10 54L10 51L28 51Z"),
    ]
    row, columns = row_of(stored("two-socket"), "GPU 3")
    assert arrows(row, columns, 1)[0].attributes["d"] == "M0 3L18 3L18 0L28 9L18 18L18 15L0 15Z"


def test_less_than_a_twentieth_crosses_without_an_arrow() -> None:
    row, columns = row_of(stored("two-socket"), "GPU 2")  # 3 %, 1 %, 0 %
    assert arrows(row, columns, 1) == []


def test_numbers_are_the_published_ratio_and_the_remote_amount() -> None:
    row, _ = row_of(stored("two-socket"), "GPU 6")
    assert numbers(row) == [("span", "8 % · 0.07 cores"), ("b", "50 % · 18.7 GiB"), ("b", "80 % · 5.1 GiB")]


def test_the_ratio_is_never_recomputed() -> None:
    published = {"cpu_time": 0.0, "memory": 0.33, "host_buffers": 0.0}
    strange = rank(0, [0], mapped={"anon": {"1": 3 * GIB}}, misalignment=published)
    row, _ = row_of(report(workload("a", strange)), "GPU 0")
    assert numbers(row)[1] == ("span", "33 % · 3.0 GiB")


def test_cores_are_over_the_window_that_the_rank_tells() -> None:
    moved = {"cpu_seconds": {"0": 5, "1": 5}, "misalignment": {"cpu_time": 0.5}, "cpu_window_seconds": 10}
    row, _ = row_of(report(workload("a", rank(0, [0], **moved))), "GPU 0")
    assert numbers(row)[0] == ("span", "50 % · 0.50 cores")


def test_a_sliver_stays_visible() -> None:
    tiny = rank(0, [0], cpu_seconds={"0": 9999, "1": 1})
    row, columns = row_of(report(workload("a", tiny)), "GPU 0")
    assert drawn(row, columns, 2)[0] == ("remote", "0%", "3", "0.6%", "12")


def test_more_columns_all_grow_rightwards_and_the_spine_leads_to_the_farthest() -> None:
    row, columns = row_of(stored("nps4"), "GPU 1")  # home node 3; a tenth on each of nodes 4 to 7
    assert drawn(row, columns, 0)[0] == ("socket", "0%", "3", "10%", "12")
    assert drawn(row, columns, 3)[0] == ("local", "0%", "3", "30%", "12")
    assert drawn(row, columns, 5)[:2] == [("against", "0", "8", "100%", "2"), ("against", "0%", "3", "10%", "12")]
    assert drawn(row, columns, 8)[0] == ("against", "0", "8", "10%", "2")  # ends with the last bar


def test_a_spine_leftwards_crosses_the_whole_last_column() -> None:
    row, columns = row_of(stored("nps4"), "GPU 4")  # home node 7
    assert [drawn(row, columns, position)[0][3] for position in (0, 3)] == ["100%", "100%"]
    assert all(mark[4] == "12" for mark in drawn(row, columns, 6))  # none inside the home socket


def test_a_way_over_two_gaps_has_an_arrow_in_each() -> None:
    row, columns = row_of(stored("edges"), "GPU 4")  # home node 1; memory on nodes 3 and 4 only
    assert [len(arrows(row, columns, gap)) for gap in (1, 3, 5)] == [1, 3, 3]
    assert drawn(row, columns, 4)[1] == ("against", "0", "26", "100%", "2")  # node 2 is only passed


def test_device_memory_of_the_own_gpu_is_not_in_the_total() -> None:
    row, columns = row_of(stored("gb200"), "GPU 0")  # 44 GiB anon and 12 GiB buffers on node 0, 3 GiB on the GPU
    assert drawn(row, columns, 0)[1] == ("local", "0%", "21", "100%", "12")
    assert numbers(row)[1] == ("span", "0 %")


def test_the_home_is_tinted_even_where_nothing_is() -> None:
    away = rank(0, [0], mapped={"anon": {"1": GIB}}, cpu_seconds={"1": 1})
    row, columns = row_of(report(workload("a", away)), "GPU 0")
    home = parse(cell(row, columns, 0))
    assert home.every("div")[0].attributes["class"] == "cell home"
    assert home.every("rect") == []
    assert parse(cell(row, columns, 2)).every("div")[0].attributes["class"] == "cell"


@pytest.mark.parametrize(
    ("reason", "shown"), [("needs 5 min", "needs 5 min"), ("the GPU's affinity is unknown", "not judged")]
)
def test_a_lane_without_a_verdict_is_dotted_and_says_why_where_it_fits(reason: str, shown: str) -> None:
    young = rank(0, [0], cpu_seconds={"0": 1, "1": 1}, not_judged={"cpu_time": reason})
    row, columns = row_of(report(workload("a", young)), "GPU 0")
    assert [drawn(row, columns, position)[0][0] for position in (0, 2)] == ["unjudged", "unjudged"]
    assert arrows(row, columns, 1) == []
    assert numbers(row)[0] == ("i", shown)


def test_unknown_sockets_give_no_verdict_colour() -> None:
    blind = report(
        workload("a", rank(0, [0], mapped={"anon": {"1": GIB}})), machine=machine(node(0, None), node(1, None))
    )
    row, columns = row_of(blind, "GPU 0")
    assert drawn(row, columns, 2)[0][0] == "unjudged"
    assert numbers(row)[1] == ("i", "sockets unknown")


def test_a_rank_without_any_reading_draws_nothing() -> None:
    row, columns = row_of(report(workload("a", rank(0, [0], mapped={}, cpu_seconds={}))), "GPU 0")
    assert drawn(row, columns, 0) == drawn(row, columns, 2) == []
