"""cpu_remote: a rank computes on another socket than its GPU."""

from collections.abc import Iterator

from numa_exporter.findings import evidence, remedy, words
from numa_exporter.findings.remote import against_the_grain, cpu_seconds_on
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene
from numa_exporter.model.placement import Rank, Workload
from numa_exporter.model.report import Finding


def find(scene: Scene) -> Iterator[Finding]:
    return against_the_grain(
        scene,
        "cpu_time",
        code="cpu_remote",
        window=lambda rank: rank.cpu_window_seconds,
        sentence=lambda workload, rank: _sentence(scene, workload, rank),
        evidence=lambda rank: (*evidence.cpu_time(rank), *evidence.masks(rank)),
        advice=remedy.bind_cpus,
    )


def _sentence(scene: Scene, workload: Workload, rank: Rank) -> str:
    far = {node for (node, locality), _ in rank.cpu_window.seconds.items() if locality == "remote"}
    used = {node for node, seconds in cpu_seconds_on(rank).items() if seconds}
    ratio, cores = rank.misalignment["cpu_time"], rank.remote["cpu_time"] / rank.cpu_window_seconds
    return (
        f"{words.rank(scene.machine, workload, rank)} spent {words.share(ratio)} of its CPU time ({cores:.2f} cores) "
        f"on {words.nodes(far & used)}, on another socket than its home, {words.nodes(rank.home)}, "
        f"in the last {words.span(rank.cpu_window_seconds)}."
    )


RULE = Rule(
    code="cpu_remote",
    levels=("warning",),
    docs="A rank spends much of its CPU time on another socket than its GPU.",
    find=find,
)
