"""The page of benchmarks is printed from what was measured."""

import pytest

from tests.bench import record
from tests.bench.benchmark import Bar
from tests.bench.table import BENCHMARKS


@pytest.mark.parametrize(
    ("kind", "measured", "met"), [("at most", 2.0, True), ("at most", 2.1, False), ("at least", 1.9, False)]
)
def test_a_bar_is_met_or_not(kind: str, measured: float, met: bool) -> None:
    assert Bar(what="x", measured=measured, limit=2.0, kind=kind).met == met  # type: ignore[arg-type]


def test_the_page_shows_every_benchmark_and_what_missed_its_bar() -> None:
    found = {
        "measured_on": "2026-01-31",
        "machine": "a CPU",
        "columns": ["what", "ms"],
        "rows": [["look", 3.14159], ["walk", None]],
        "bars": [{"what": "ratio", "kind": "at most", "limit": 2, "measured": 2.5, "met": False}],
        "notes": ["16 GiB: left out"],
    }
    page = record.page({BENCHMARKS[0].name: found})
    assert "| look | 3.14 |\n| walk | – |\n" in page
    assert "- ratio: 2.5, at most 2: **not met**\n- 16 GiB: left out\n" in page
    assert page.count("\n## ") == len(BENCHMARKS)
    assert page.count("Not measured yet.") == len(BENCHMARKS) - 1


def test_the_page_says_why_a_benchmark_could_not_run() -> None:
    page = record.page({BENCHMARKS[0].name: {"unable": "needs root"}})
    assert f"{BENCHMARKS[0].method}\n\nNot measured: needs root.\n" in page


def test_the_committed_page_is_that_of_the_committed_figures() -> None:
    assert (record.DOCS / "benchmarks.md").read_text() == record.page(record.load())
