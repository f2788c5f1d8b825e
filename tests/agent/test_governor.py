"""The brake: doubled over budget, released below half of it, bounded on both sides."""

import os

import pytest

from numa_exporter.agent.governor import STRETCH_LIMIT, Governor, Stretch, stretched
from numa_exporter.sources.table import SOURCES


@pytest.mark.parametrize(
    ("stretch", "spent", "expected"),
    [
        (1.0, 1.2, 2.0),
        (4.0, 1.2, 8.0),
        (8.0, 18.0, STRETCH_LIMIT),
        (4.0, 0.6, 4.0),
        (4.0, 0.4, 2.0),
        (1.0, 0.0, 1.0),
    ],
)
def test_stretch_follows_what_is_spent(stretch: float, spent: float, expected: float) -> None:
    assert stretched(stretch, spent) == expected


def test_time_in_a_workloads_lock_has_a_budget_of_its_own() -> None:
    """CPU time is plentiful; 15 s apart, 0.5 s in locks is over 2 %, 0.1 s below half of it."""
    governor = Governor(budget=1e9)
    sums = ((1000.0, 7.0), (1015.0, 7.5), (1030.0, 7.7), (1045.0, 7.8), (1060.0, None))
    assert [governor.observe(*sum_).locks for sum_ in sums] == [1.0, 2.0, 2.0, 1.0, 1.0]


def test_only_those_who_hold_locks_slow_down_for_them() -> None:
    by_name = {source.name: source for source in SOURCES}
    names = ("memory", "threads", "processes")
    assert [Stretch(locks=4.0).of(by_name[name]) for name in names] == [4.0, 1.0, 1.0]
    assert [Stretch(cpu=2.0, locks=1.0).of(by_name[name]) for name in names] == [2.0, 2.0, 1.0]


def test_cost_is_this_process() -> None:
    cost = Governor(0.05).cost()
    with open("/proc/self/statm") as statm:
        pages = int(statm.read().split()[1])
    assert cost.resident_bytes == pytest.approx(pages * os.sysconf("SC_PAGE_SIZE"), rel=0.2)
    assert cost.threads >= 1
    assert cost.open_fds is not None and cost.open_fds >= 3
