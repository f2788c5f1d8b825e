"""threads_escaped: a process is bound to its home, but some of its busy threads are not.

A bind by PID reaches the main thread alone; threads that were there already keep their masks. NCCL's bound threads
beside an unbound main thread are normal, and silent: the join counts escapes only from a bound process.
"""

from collections.abc import Iterator

from numa_exporter.findings import evidence, remedy, words
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene, about, trust
from numa_exporter.model.report import Finding


def find(scene: Scene) -> Iterator[Finding]:
    limits = scene.limits
    for workload, rank in scene.ranks():
        threads, cores = rank.escaped_threads, rank.escaped_cores
        if not threads or cores is None or rank.unjudged is not None or rank.key not in scene.settled:
            continue
        loud = cores >= limits.escaped_warning_cores
        told = remedy.bind_cpus(scene, workload, rank)
        window = "" if rank.thread_window is None else f" in the last {words.span(rank.thread_window)}"
        yield Finding(
            code="threads_escaped",
            level="warning" if loud else "info",
            subject=about(rank),
            sentence=f"{words.rank(scene.machine, workload, rank)} is bound to its home, {words.nodes(rank.home)}, but "
            f"{threads} of its threads may leave it and used {cores:.2f} cores{window}.",
            value=cores,
            limit=limits.escaped_warning_cores if loud else limits.escaped_thread_cores,
            window_seconds=rank.thread_window,
            confidence=trust(rank),
            evidence=tuple(evidence.masks(rank)),
            remedy=told.remedy,
            remedy_note=f"A bind by PID reaches the main thread alone.\n{told.note}",
        )


RULE = Rule(
    code="threads_escaped",
    levels=("warning", "info"),
    docs="Busy threads of a bound process may run elsewhere; a warning from a quarter of a core together.",
    find=find,
    looks=True,
)
