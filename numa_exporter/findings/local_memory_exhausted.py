"""local_memory_exhausted: a home node is full, so that what its ranks ask for goes to another node.

MemFree alone is always low beside a page cache; numa_foreign counts allocations that this node was asked for and
another one served. Clean cache on the home node sent 96 % of new pages away, under every policy but a bind.
"""

from collections.abc import Iterator

from numa_exporter.findings import words
from numa_exporter.findings.forms import DROP_CACHE, GIB, POLICY_NEEDS
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene
from numa_exporter.model.machine import NodeMemory
from numa_exporter.model.report import Evidence, Finding, Subject

MOST_NAMES = 3


def find(scene: Scene) -> Iterator[Finding]:
    limits = scene.limits
    for placed in scene.machine.nodes:
        memory, sent_away = placed.node.memory, scene.foreign(placed.id)
        if memory is None or memory.free_bytes is None or sent_away is None:
            continue
        least = max(limits.local_memory_free_bytes, limits.local_memory_free * memory.total_bytes)
        at_home = _at_home(scene, placed.id)
        if memory.free_bytes >= least or sent_away < limits.local_memory_foreign_pages or not at_home:
            continue
        cache = memory.reclaimable_bytes or 0
        yield Finding(
            code="local_memory_exhausted",
            level="warning",
            subject=Subject(numa_node=placed.id),
            sentence=f"Node {placed.id}, home of {', '.join(at_home)}, has {words.size(memory.free_bytes)} free and "
            f"sent {sent_away:,} allocations to other nodes in {words.span(scene.window)}; page cache holds "
            f"{words.size(cache)} of it.",
            value=float(memory.free_bytes),
            limit=least,
            window_seconds=scene.window,
            evidence=_evidence(placed.id, memory, placed.node.numastat["foreign"]),
            remedy=_remedy(cache, placed.id),
            remedy_note=f"{'Drop the cache' if cache >= GIB else 'Make room there'} and start the engine bound to the "
            f"node, in this order: what was allocated elsewhere stays there until it restarts.\n{POLICY_NEEDS}.\n"
            "Effect unknown.",
        )


def _at_home(scene: Scene, node: int) -> list[str]:
    names = [words.rank(scene.machine, work, rank) for work, rank in scene.ranks() if node in rank.memory_home]
    more = len(names) - MOST_NAMES
    return [*names[:MOST_NAMES], *([f"{more} more"] if more > 0 else [])]


def _remedy(cache: int, node: int) -> str:
    if cache >= GIB:
        return f"{DROP_CACHE}\nnumactl --membind={node} COMMAND"
    return f"# who fills node {node}\nnumastat -m\nnumastat -p PID\n\nnumactl --membind={node} COMMAND"


def _evidence(node: int, memory: NodeMemory, foreign: int) -> tuple[Evidence, ...]:
    folder = f"/sys/devices/system/node/node{node}"
    free = memory.free_bytes or 0
    return (
        Evidence(path=f"{folder}/meminfo", line=f"Node {node} MemFree: {free >> 10} kB"),
        Evidence(path=f"{folder}/meminfo", line=f"Node {node} MemTotal: {memory.total_bytes >> 10} kB"),
        Evidence(path=f"{folder}/numastat", line=f"numa_foreign {foreign}"),
    )


RULE = Rule(
    code="local_memory_exhausted",
    levels=("warning",),
    docs="A home node has no free memory left and its allocations go to other nodes, often for page cache.",
    find=find,
)
