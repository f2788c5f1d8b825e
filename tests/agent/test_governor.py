"""The brake: doubled over budget, released below half of it, bounded on both sides."""

import os

import pytest

from numa_exporter.agent.governor import STRETCH_LIMIT, Governor, stretched


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
    assert governor.observe(1000.0, 7.0) == 1.0
    assert governor.observe(1015.0, 7.5) == 2.0
    assert governor.observe(1030.0, 7.7) == 2.0
    assert governor.observe(1045.0, 7.8) == 1.0
    assert governor.observe(1060.0, None) == 1.0


def test_cost_is_this_process() -> None:
    cost = Governor(0.05).cost()
    with open("/proc/self/statm") as statm:
        pages = int(statm.read().split()[1])
    assert cost.resident_bytes == pytest.approx(pages * os.sysconf("SC_PAGE_SIZE"), rel=0.2)
    assert cost.threads >= 1
    assert cost.open_fds is not None and cost.open_fds >= 3
