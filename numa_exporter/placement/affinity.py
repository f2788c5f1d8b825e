"""Affinity of a GPU: the node(s) with CPUs nearest to it, and who said so. Never node 0 by default.

The order is sysfs, NVML's memory affinity, the only node with CPUs, unknown. sysfs is first because it is there
without a driver library, for MIG and for vGPU; NVML knows what firmware without _PXM left out (numa_node -1).
nvmlDeviceGetNumaNodeId is no affinity: it is the node of the GPU's own memory.
"""

from collections.abc import Mapping

from numa_exporter.model.gpus import Gpu
from numa_exporter.model.placement import AffinitySource, PlacedGpu, PlacedNode
from numa_exporter.placement.nodes import in_one_place


def place_gpu(gpu: Gpu, nodes: Mapping[int, PlacedNode]) -> PlacedGpu:
    """The GPU with its affine nodes, in order of their ids; empty = unknown."""
    affinity, source = _affinity(gpu, nodes)
    sockets = frozenset(socket for node in affinity if (socket := nodes[node].socket) is not None)
    return PlacedGpu(gpu=gpu, affinity=affinity, source=source, sockets=sockets)


def _affinity(gpu: Gpu, nodes: Mapping[int, PlacedNode]) -> tuple[tuple[int, ...], AffinitySource | None]:
    named = nodes.get(gpu.function.numa_node) if gpu.function and gpu.function.numa_node is not None else None
    if named and in_one_place(named):
        return tuple(sorted(named.nearest)), "sysfs"
    with_cpus = {placed.id for placed in nodes.values() if placed.online_cpus}
    # GB200 lists its own memory nodes too: "0,3-9,11-17".
    from_nvml = with_cpus & (gpu.nvml_affinity or frozenset())
    if from_nvml:
        return tuple(sorted(from_nvml)), "nvml"
    if len(with_cpus) == 1:
        return tuple(with_cpus), "only_node"
    return (), None
