"""The page sampler on kernels with several nodes, against a full walk of the same processes."""

from collections.abc import Callable, Iterator
from statistics import fmean
from typing import Any

import pytest

from numa_exporter.model.estimate import Part, half_width
from tests.lab.runner import Lab

pytestmark = pytest.mark.lab

LOOKS, FIRST = 14, 4
DENSE = "node:0,anon:24,node:1,anon:12,memfd:8,node:0,shmem_anon:8,thp:16"
"""Two nodes within one backing, and backings on one node."""
SPARSE = "node:0,islands:64:20,node:1,islands:64:10"


def judged(process: dict[str, Any]) -> Iterator[tuple[float, float]]:
    """Error and half-width of every share of every look but the first ones."""
    for look in process["looks"][FIRST:]:
        assert look["withheld"] is None
        for backing, estimate in look["backings"].items():
            truth = process["walk"][backing]
            for node in sorted({*truth, *estimate["shares"]}):
                share = estimate["shares"].get(node, 0.0)
                error = share - truth.get(node, 0) / sum(truth.values())
                yield abs(error), half_width([Part(1.0, share, estimate["effective"])])


@pytest.mark.parametrize(("kernel", "processes"), [("6.12", (DENSE, SPARSE)), ("6.1", (DENSE,))])
def test_sampled_shares_hold_the_walked_ones(lab: Callable[..., Lab], kernel: str, processes: tuple[str, ...]) -> None:
    """6.1 has no PAGEMAP_SCAN: what is dense is sampled all the same."""
    answers = lab("2s2n", kernel=kernel).ask("-m", "tests.lab.sampled", str(LOOKS), *processes)
    for process in answers:
        assert process["means"] == ("pagemap_scan" if kernel == "6.12" else "move_pages")
        assert {"0", "1"} <= {node for nodes in process["walk"].values() for node in nodes}
        shots = list(judged(process))
        assert fmean(error <= width for error, width in shots) >= 0.9
        assert all(error <= 1.5 * width for error, width in shots)
