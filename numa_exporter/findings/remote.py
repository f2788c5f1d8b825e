"""What the three findings that rest on a verdict have in common."""

from collections.abc import Callable, Iterable, Iterator

from numa_exporter.findings import words
from numa_exporter.findings.remedy import Advice
from numa_exporter.findings.scene import Scene, about, trust
from numa_exporter.findings.verdict import bar_of
from numa_exporter.model.ids import Backing, Dimension
from numa_exporter.model.placement import Rank, Workload
from numa_exporter.model.report import Evidence, Finding

PRIVATE: tuple[Backing, ...] = ("anon", "shmem_anon", "hugetlb", "driver", "shmem")
HOST_BUFFERS: tuple[Backing, ...] = ("shmem_anon", "driver")


def against_the_grain(
    scene: Scene,
    dimension: Dimension,
    *,
    code: str,
    sentence: Callable[[Workload, Rank], str],
    evidence: Callable[[Rank], Iterable[Evidence]],
    advice: Callable[[Scene, Workload, Rank], Advice],
    window: Callable[[Rank], float] | None = None,
) -> Iterator[Finding]:
    """A warning for each rank whose verdict in this dimension is against the grain. ``window``: the seconds that were
    measured over; what is measured at a moment has the seconds for which it has held."""
    for workload, rank in scene.ranks():
        verdict = scene.misaligned(rank, dimension)
        if verdict is None:
            continue
        held = None if verdict.since is None else scene.placement.taken_at - verdict.since
        told = advice(scene, workload, rank)
        yield Finding(
            code=code,
            level="warning",
            subject=about(rank),
            sentence=sentence(workload, rank),
            value=rank.misalignment.get(dimension),
            limit=bar_of(dimension, rank, scene.limits).limit,
            window_seconds=window(rank) if window else held,
            since=verdict.since,
            confidence=trust(rank),
            evidence=tuple(evidence(rank)),
            remedy=told.remedy,
            remedy_note=told.note,
        )


def bytes_on(rank: Rank, backings: Iterable[Backing]) -> dict[int, float]:
    """Bytes by node; of the named shared memory only what this rank alone maps."""
    found: dict[int, float] = {}
    for backing in backings:
        amounts = rank.private_shmem if backing == "shmem" else (rank.mapped or {}).get(backing, {})
        for node, count in amounts.items():
            found[node] = found.get(node, 0.0) + count
    return found


def cpu_seconds_on(rank: Rank) -> dict[int, float]:
    """CPU seconds of the window by node."""
    found: dict[int, float] = {}
    for (node, _), seconds in rank.cpu_window.seconds.items():
        found[node] = found.get(node, 0.0) + seconds
    return found


def remote_memory(scene: Scene, workload: Workload, rank: Rank, dimension: Dimension, what: str) -> str:
    """R keeps 27 % of WHAT (3.1 GiB) on node 1, ..."""
    found = bytes_on(rank, PRIVATE if dimension == "memory" else HOST_BUFFERS)
    far = [node for node, count in found.items() if count and rank.mapped_locality.get(node) == "remote"]
    ratio, amount = words.share(rank.misalignment[dimension]), words.size(rank.remote[dimension])
    return (
        f"{words.rank(scene.machine, workload, rank)} keeps {ratio} of {what} ({amount}) on {words.nodes(far)}, "
        f"on another socket than its home, {words.nodes(rank.memory_home)}."
    )
