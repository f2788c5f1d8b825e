"""Counters and tallies become bytes; what is not known well enough is withheld, and says why."""

import pytest

from numa_exporter.sources.sampler.estimator import estimate
from numa_exporter.sources.sampler.frame import Resident
from numa_exporter.sources.sampler.tally import Tally


def tally(pages: float, far: float, *, effective: float = 2500.0, error: float | None = None) -> Tally:
    nodes = {0: pages * (1 - far), 1: pages * far}
    return Tally(by_node=nodes, error=pages * 0.02 if error is None else error, effective=effective)


def test_the_kernels_counters_say_how_much() -> None:
    made = estimate({"anon": tally(1_030_000, 0.25)}, Resident(total=1_000_000, anon=1_000_000, file=0, shmem=0))
    assert made.pages == {"anon": 1_000_000}
    assert made.withheld is None
    assert made.half_width == pytest.approx(2.05 * (0.25 * 0.75 / 2500) ** 0.5, rel=0.03)


def test_a_counter_that_the_sample_refutes_gives_way() -> None:
    """1.2 million anonymous pages that the kernel counts as files: a private copy of a mapped file, say."""
    resident = Resident(total=2_000_000, anon=800_000, file=1_200_000, shmem=0)
    made = estimate({"anon": tally(2_000_000, 0.5)}, resident)
    assert made.pages == {"anon": 2_000_000}
    assert made.withheld is None


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (tally(1_000_000, 0.5, effective=50), "the shares by node are known to ±14 points only"),
        (tally(500_000, 0.5, error=20_000), "the sample stands for 50 % of the resident pages"),
        (tally(0, 0), "the shares by node are known to ±100 points only"),
    ],
)
def test_withheld_says_why(found: Tally, reason: str) -> None:
    made = estimate({"anon": found}, Resident(total=1_000_000, anon=1_000_000, file=0, shmem=0))
    assert made.withheld == reason


def test_a_backing_without_a_hit_may_lie_anywhere() -> None:
    resident = Resident(total=1_000_000, anon=950_000, file=0, shmem=50_000)
    made = estimate({"anon": tally(950_000, 0.5), "shmem": Tally(error=20_000)}, resident)
    assert made.withheld is None
    assert made.half_width == pytest.approx(0.95 * 0.0205 + 0.05, abs=0.001)


def test_nothing_at_all() -> None:
    assert estimate({}, Resident(total=0)).withheld is not None
