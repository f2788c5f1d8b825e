"""affinity_unknown: neither firmware nor driver says to which node a GPU is nearest; it is never guessed."""

from collections.abc import Iterator

from numa_exporter.findings import evidence, words
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene
from numa_exporter.model.gpus import Gpu
from numa_exporter.model.report import Finding, Subject


def find(scene: Scene) -> Iterator[Finding]:
    machine = scene.machine
    for placed in machine.gpus:
        if placed.affinity:
            continue
        nvml = "NVML names none" if machine.nvml else "NVML cannot be asked"
        yield Finding(
            code="affinity_unknown",
            level="info",
            subject=Subject(uuid=placed.uuid),
            sentence=f"{words.gpu(placed)} has no known NUMA node: {_sysfs(placed.gpu)} and {nvml}; nothing on it is "
            "judged.",
            evidence=tuple(evidence.affinity(placed)),
            remedy_note=f"{_virtual() if machine.virtual else _bare(placed.gpu.vendor, machine.nvml)}\n"
            "Do not write numa_node by hand: the kernel marks that as a firmware bug and taints itself.",
        )


def _sysfs(gpu: Gpu) -> str:
    node = gpu.function.numa_node if gpu.function else None
    # A node that is not online, or a memory-only one between two sockets.
    return "sysfs says -1" if node is None else f"sysfs says {node}, which has no nearest node with CPUs,"


def _virtual() -> str:
    return "On the hypervisor, put the GPU behind a PCI bridge of its node (QEMU: -device pxb-pcie,numa_node=N)."


def _bare(vendor: str, nvml: bool) -> str:
    if vendor == "nvidia" and not nvml:
        return "Let the agent load libnvidia-ml: NVML knows affinities that firmware leaves out."
    return "Update the firmware, or turn on NUMA in it (NPS, SNC), so that ACPI gives the root port a _PXM."


RULE = Rule(
    code="affinity_unknown",
    levels=("info",),
    docs="A GPU's nearest node is not known, so nothing on it is judged.",
    find=find,
)
