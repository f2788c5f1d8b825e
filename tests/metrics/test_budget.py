"""How many series a node costs its Prometheus: the contract's budgets, on machines that tell all there is to tell."""

from collections import Counter

import pytest

from tests.builders import Parts, gb200, nps4, two_socket
from tests.metrics.scenes import crowded, exposed


@pytest.mark.parametrize(
    ("parts", "budget"),
    [(two_socket(), 1_500), (nps4(), 2_700), (gb200(), 1_500)],
    ids=["2 nodes", "8 nodes", "GB200"],
)
def test_sixteen_containers_stay_within_the_budget(parts: Parts, budget: int) -> None:
    found = exposed(*(crowded(parts, 16, look) for look in (1, 2, 3)))
    largest = Counter({metric.name: len(metric.samples) for metric in found.metrics}).most_common(8)
    assert found.series <= budget, largest
    assert sum(len(metric.samples) for metric in found.metrics) == found.series
