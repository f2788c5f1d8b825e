"""gpu_node_polluted: foreign pages on the memory of a coherent GPU (GH200, GB200), where the KV cache should be.

Foreign is page cache, and what ranks and helpers of other GPUs map there. What the driver gave out on the node to
its own GPU's engine is not seen, and not meant.
"""

from collections.abc import Iterator

from numa_exporter.findings import words
from numa_exporter.findings.evidence import leader
from numa_exporter.findings.forms import DROP_CACHE, POLICY_NEEDS
from numa_exporter.findings.remote import PRIVATE, bytes_on
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene
from numa_exporter.formats import idlist
from numa_exporter.model.placement import PlacedGpu
from numa_exporter.model.report import Evidence, Finding, Subject


def find(scene: Scene) -> Iterator[Finding]:
    for gpu in scene.machine.gpus:
        placed = None if gpu.gpu.memory_node is None else scene.machine.node(gpu.gpu.memory_node)
        if placed is None or placed.kind != "gpu":
            continue
        cache = (placed.node.memory.reclaimable_bytes or 0) if placed.node.memory else 0
        strangers = dict(_strangers(scene, gpu, placed.id))
        foreign = cache + sum(strangers.values())
        if foreign < scene.limits.gpu_node_bytes:
            continue
        ordinary = [node.id for node in scene.machine.nodes if node.kind == "cpu" and node.has_memory]
        yield Finding(
            code="gpu_node_polluted",
            level="warning",
            subject=Subject(uuid=gpu.uuid, numa_node=placed.id),
            sentence=f"Node {placed.id}, the memory of {words.gpu(gpu)}, holds {words.size(foreign)} that are not its "
            f"engine's, {words.size(cache)} of it page cache: they take the space of its KV cache.",
            value=float(foreign),
            limit=scene.limits.gpu_node_bytes,
            window_seconds=scene.limits.gpu_node_seconds,
            evidence=tuple(_evidence(placed.id, cache, strangers)),
            remedy=f"{DROP_CACHE}\n\n# what is not at home there\nnumactl --membind={idlist.render(ordinary)} COMMAND",
            remedy_note=f"Drop the cache before the engine starts.\n{POLICY_NEEDS}.\nEffect unknown.",
        )


def _strangers(scene: Scene, gpu: PlacedGpu, node: int) -> Iterator[tuple[int, float]]:
    """PID of the oldest process, and bytes there, of each rank of other GPUs and of each workload's helpers."""
    for workload in scene.placement.workloads:
        for rank in (*workload.ranks, *((workload.helpers,) if workload.helpers else ())):
            bytes_there = bytes_on(rank, PRIVATE).get(node, 0.0)
            if gpu.uuid not in (rank.gpus or workload.gpus) and bytes_there and rank.processes:
                yield leader(rank), bytes_there


def _evidence(node: int, cache: int, strangers: dict[int, float]) -> Iterator[Evidence]:
    path = f"/sys/devices/system/node/node{node}/meminfo"
    yield Evidence(path=path, line=f"Node {node} Active(file) + Inactive(file) + SReclaimable: {cache >> 10} kB")
    for pid, count in strangers.items():
        yield Evidence(path=f"/proc/{pid}/numa_maps", line=f"N{node}={count:.0f} (bytes)")


RULE = Rule(
    code="gpu_node_polluted",
    levels=("warning",),
    docs="Page cache or other workloads' pages lie on a GPU's own memory node.",
    find=find,
    seconds=lambda limits: limits.gpu_node_seconds,
)
