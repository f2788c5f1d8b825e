"""/sys/class/kfd/kfd/topology/nodes/N/properties: AMD's compute nodes, CPUs and GPUs in one list.

drivers/gpu/drm/amd/amdkfd/kfd_topology.c:node_show. N is KFD's own number, not a NUMA node::

    cpu_cores_count 0           not 0: a CPU node (an APU has both)
    simd_count 480              not 0: a GPU
    location_id 8960            bus << 8 | device << 3 | function; bits 28 to 31 number a GPU's partition
    domain 0
    drm_render_minor 128        /dev/dri/renderD128
    unique_id 7809984429061111111

Beside it lie ``gpu_id`` (one number, the suffix of /sys/class/kfd/kfd/proc/PID/vram_GPUID) and ``name``.
"""

from dataclasses import dataclass

from numa_exporter.formats import pci_address, vmstat
from numa_exporter.formats.pci_address import PciAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class KfdNode:
    """``uuid`` is ROCm's spelling of unique_id. None on a CPU node and where the driver does not say."""

    cpu_cores: int
    simd_count: int
    address: PciAddress | None
    render_minor: int | None
    uuid: str | None

    @property
    def is_gpu(self) -> bool:
        return self.simd_count > 0


def parse(data: bytes, path: str) -> KfdNode:
    """Raises ParseError on a line that is not ``name NUMBER``, and on an empty file."""
    found = vmstat.counters(data, path)
    # The driver writes 0 for "none": 0000:00:00.0 is a host bridge, and render minors begin at 128.
    location, domain = found.get("location_id"), found.get("domain")
    unique_id = found.get("unique_id")
    return KfdNode(
        cpu_cores=found.get("cpu_cores_count", 0),
        simd_count=found.get("simd_count", 0),
        address=pci_address.from_location(domain, location) if location and domain is not None else None,
        render_minor=found.get("drm_render_minor") or None,
        uuid=f"GPU-{unique_id:016x}" if unique_id else None,
    )
