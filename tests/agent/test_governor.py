"""The brake: doubled over budget, released below half of it, bounded on both sides."""

import os

import pytest

from numa_exporter.agent.governor import STRETCH_LIMIT, Governor, stretched


@pytest.mark.parametrize(
    ("stretch", "share", "expected"),
    [
        (1.0, 0.06, 2.0),
        (4.0, 0.06, 8.0),
        (8.0, 0.9, STRETCH_LIMIT),
        (4.0, 0.03, 4.0),
        (4.0, 0.02, 2.0),
        (1.0, 0.0, 1.0),
    ],
)
def test_stretch_follows_the_cpu_share(stretch: float, share: float, expected: float) -> None:
    assert stretched(stretch, share, budget=0.05) == expected


def test_cost_is_this_process() -> None:
    cost = Governor(0.05).cost()
    with open("/proc/self/statm") as statm:
        pages = int(statm.read().split()[1])
    assert cost.resident_bytes == pytest.approx(pages * os.sysconf("SC_PAGE_SIZE"), rel=0.2)
    assert cost.threads >= 1
    assert cost.open_fds is not None and cost.open_fds >= 3
