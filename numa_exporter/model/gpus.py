"""What drivers and the PCI tree said of the GPUs, and who has a context on them."""

from dataclasses import dataclass
from typing import Literal

from numa_exporter.formats.pci_address import PciAddress
from numa_exporter.model.ids import NodeSet
from numa_exporter.model.machine import PciFunction

ContextKind = Literal["compute", "graphics", "mps"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MigInstance:
    """A MIG device of a parent GPU, with the ids that dcgm-exporter labels GPU_I_ID and GPU_I_PROFILE carry."""

    uuid: str | None
    gpu_instance_id: int
    compute_instance_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuContext:
    """One row of NVML's process lists. ``used_bytes`` is None where the driver has no figure (MIG, vGPU)."""

    pid: int
    kind: ContextKind
    used_bytes: int | None = None
    gpu_instance_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU. ``uuid`` is the driver's, else the PCI address in dcgm form; ``index`` is information only.

    ``function`` is None where sysfs lacks it; ``nvml_address`` is then all that is known of its place.
    ``nvml_affinity`` is nvmlDeviceGetMemoryAffinity as it came (not yet cut to nodes with CPUs).
    ``memory_node`` is the node that holds the GPU's own memory (numa_status), never an affinity.
    ``contexts`` is None where nobody could list them; an empty tuple is a free GPU.
    """

    uuid: str
    vendor: Literal["nvidia", "amd", "intel", "unknown"]
    index: int | None = None
    minor: int | None = None
    model: str | None = None
    function: PciFunction | None = None
    nvml_address: PciAddress | None = None
    nvml_affinity: NodeSet | None = None
    memory_node: int | None = None
    c2c: bool | None = None
    mig: tuple[MigInstance, ...] = ()
    mig_enabled: bool = False
    contexts: tuple[GpuContext, ...] | None = None
    pcie_rx_bytes: int | None = None
    pcie_tx_bytes: int | None = None
    link_width: int | None = None
    max_link_width: int | None = None
    render_minor: int | None = None

    @property
    def address(self) -> PciAddress | None:
        """Where it is in the PCI tree, by sysfs, else by NVML."""
        return self.function.address if self.function else self.nvml_address


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpus:
    """All GPUs in PCI order. ``contexts_at`` is the wall time at which the process lists were read: an entry
    whose PID started later belongs to somebody else. ``nvml`` says whether the library ever answered."""

    gpus: tuple[Gpu, ...]
    driver_version: str | None = None
    nvml: bool = False
    contexts_at: float | None = None
