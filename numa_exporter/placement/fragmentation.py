"""Fragmentation: how many GPUs requests of a size could still take under a policy.

Counted as the device manager does (kubernetes pkg/kubelet/cm/devicemanager/topology_hints.go): a device counts on
the nodes that its plugin reported; where no device reports any, every policy admits everything. ``restricted`` admits
what the fewest nodes hold that could ever hold it on this machine, empty. Whole GPUs only: instances and shares of
one are other sizes.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations

from numa_exporter.model.kubelet import AlignmentPolicy

SIZES = (1, 2, 4, 8)
POLICIES: tuple[AlignmentPolicy, ...] = ("any", "restricted", "single-numa-node")
Nodes = Mapping[str, int | None]
"""NUMA node by GPU, as the plugin reported it; None = it reported none."""


def usable(gpus: Nodes, free: frozenset[str], size: int, policy: AlignmentPolicy) -> int:
    """GPUs, not requests, that requests of ``size`` could take together of those that are ``free``."""
    if policy == "any" or all(node is None for node in gpus.values()):
        return len(free) // size * size
    capacity, left = _by_node(gpus, frozenset(gpus)), _by_node(gpus, free)
    if policy == "single-numa-node":
        return sum(count // size * size for count in left.values())
    width = next((nodes for nodes in range(1, len(capacity) + 1) if _widest(capacity, nodes) >= size), None)
    if width is None:
        return 0
    return _requests(tuple(sorted(left.get(node, 0) for node in capacity)), size, width) * size


def stranded(gpus: Nodes, free: frozenset[str], size: int, policy: AlignmentPolicy) -> int:
    """Free GPUs that the policy alone keeps from requests of this size: not those that no policy could give, nor those
    that the machine, empty, could not align either."""
    reachable = min(usable(gpus, free, size, "any"), usable(gpus, frozenset(gpus), size, policy))
    return max(0, reachable - usable(gpus, free, size, policy))


def _by_node(gpus: Nodes, which: frozenset[str]) -> dict[int, int]:
    """A GPU that reports no node beside others that do is in no hint, and never taken."""
    found: dict[int, int] = {}
    for uuid, node in gpus.items():
        if node is not None:
            found[node] = found.get(node, 0) + (uuid in which)
    return found


def _widest(capacity: Mapping[int, int], nodes: int) -> int:
    return sum(sorted(capacity.values(), reverse=True)[:nodes])


def _requests(left: tuple[int, ...], size: int, width: int) -> int:
    """How many requests of ``size`` fit, each on ``width`` of the nodes with so many GPUs left."""

    @cache
    def most(left: tuple[int, ...]) -> int:
        enough = (chosen for chosen in frozenset(combinations(left, width)) if sum(chosen) >= size)
        after = (_after(left, chosen, remains) for chosen in enough for remains in _remains(chosen, size))
        return max((1 + most(rest) for rest in after), default=0)

    return most(left)


def _after(left: tuple[int, ...], chosen: tuple[int, ...], remains: tuple[int, ...]) -> tuple[int, ...]:
    """Which nodes they are does not matter: equal counts are equal states."""
    return tuple(sorted(((Counter(left) - Counter(chosen)) + Counter(remains)).elements()))


def _remains(counts: tuple[int, ...], size: int) -> Iterator[tuple[int, ...]]:
    """Every way to take ``size`` from these nodes, as what it leaves on them."""
    if not counts:
        if size == 0:
            yield ()
        return
    for take in range(min(counts[0], size) + 1):
        yield from ((counts[0] - take, *rest) for rest in _remains(counts[1:], size - take))
