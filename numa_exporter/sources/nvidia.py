"""NVIDIA GPUs: what the kernel driver's files say without a library, and what NVML says."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from numa_exporter.formats import cpumask, driver_nvidia, pci_address
from numa_exporter.formats.driver_nvidia import Information
from numa_exporter.formats.pci_address import PciAddress
from numa_exporter.model.gpus import ContextKind, Gpu, GpuContext, MigInstance
from numa_exporter.model.recording import Json
from numa_exporter.sources.look import Look

DRIVER = "/proc/driver/nvidia"
MOST = 256
"""GPUs of a machine, instances of a GPU. 32 and 7 are the most that there are; whoever says more was not asked."""

# In this order: an MPS client can be in two lists, and the MPS server is in the first.
_LISTS: tuple[tuple[ContextKind, str], ...] = (
    ("compute", "DeviceGetComputeRunningProcesses"),
    ("mps", "DeviceGetMPSComputeRunningProcesses"),
    ("graphics", "DeviceGetGraphicsRunningProcesses"),
)


def driver_version(look: Look) -> str | None:
    return look.file(f"{DRIVER}/version", driver_nvidia.parse_version)


def driver_addresses(look: Look) -> frozenset[PciAddress]:
    """The GPUs that the kernel driver has taken."""
    found = (pci_address.parse(name) for name in look.names(f"{DRIVER}/gpus"))
    return frozenset(address for address in found if address is not None)


def driver_information(look: Look, address: PciAddress) -> Information | None:
    return look.file(f"{DRIVER}/gpus/{address.sysfs}/information", driver_nvidia.parse_information)


def memory_node(look: Look, address: PciAddress) -> int | None:
    """The node that holds the GPU's own memory. Not nvmlDeviceGetNumaNodeId: older drivers lack it, and its name
    invites to take it for an affinity."""
    return look.file(f"{DRIVER}/gpus/{address.sysfs}/numa_status", driver_nvidia.parse_numa_status)


def nvml_gpus(look: Look, count: int) -> Iterator[tuple[PciAddress, Gpu]]:
    """What NVML says of each GPU that answers, by its address; ``function`` and ``memory_node`` are left open."""
    for index in range(min(count, MOST)):
        address = _address(look.nvml("DeviceGetPciInfo", index))
        uuid = _text(look.nvml("DeviceGetUUID", index))
        if address is not None and uuid is not None:
            yield address, replace(nvml_gpu(look, index, uuid), nvml_address=address)


def nvml_gpu(look: Look, index: int, uuid: str) -> Gpu:
    mig_enabled = bool(look.nvml("DeviceGetMigMode", index))
    mig = dict(_mig_instances(look, index)) if mig_enabled else {}
    moved = _mapping(look.nvml("DeviceGetFieldValues", index))
    c2c = look.nvml("DeviceGetC2cModeInfoV", index)
    return Gpu(
        uuid=uuid,
        vendor="nvidia",
        index=index,
        minor=_number(look.nvml("DeviceGetMinorNumber", index)),
        model=_text(look.nvml("DeviceGetName", index)),
        nvml_affinity=_nodes(look.nvml("DeviceGetMemoryAffinity", index)),
        c2c=c2c if isinstance(c2c, bool) else None,
        mig=tuple(mig.values()),
        mig_enabled=mig_enabled,
        contexts=_mig_contexts(look, index, mig) if mig else _contexts(look, index),
        pcie_rx_bytes=_number(moved.get("rx")),
        pcie_tx_bytes=_number(moved.get("tx")),
        link_width=_number(look.nvml("DeviceGetCurrPcieLinkWidth", index)),
        max_link_width=_number(look.nvml("DeviceGetMaxPcieLinkWidth", index)),
    )


def _mig_instances(look: Look, index: int) -> Iterator[tuple[int, MigInstance]]:
    """By MIG index; indices have holes."""
    for mig in range(min(_number(look.nvml("DeviceGetMaxMigDeviceCount", index)) or 0, MOST)):
        uuid = _text(look.nvml("DeviceGetUUID", index, mig))
        instance = _number(look.nvml("DeviceGetGpuInstanceId", index, mig)) if uuid else None
        if instance is not None:
            compute = _number(look.nvml("DeviceGetComputeInstanceId", index, mig))
            yield mig, MigInstance(uuid=uuid, gpu_instance_id=instance, compute_instance_id=compute)


def _mig_contexts(look: Look, index: int, instances: Mapping[int, MigInstance]) -> tuple[GpuContext, ...] | None:
    """Asked instance by instance: the parent's list needs a privilege (NO_PERMISSION without it)."""
    lists = [(instance, _contexts(look, index, mig)) for mig, instance in instances.items()]
    if all(contexts is None for _, contexts in lists):
        return None
    return tuple(
        replace(context, gpu_instance_id=instance.gpu_instance_id)
        for instance, contexts in lists
        for context in contexts or ()
    )


def _contexts(look: Look, *device: int) -> tuple[GpuContext, ...] | None:
    """The union of the three lists; None where no list could be read."""
    found: dict[tuple[int, int | None], GpuContext] = {}
    listed = False
    for kind, question in _LISTS:
        rows = look.nvml(question, *device)
        if not isinstance(rows, list | tuple):
            continue
        listed = True
        for pid, used, instance in rows:
            context = GpuContext(pid=pid, kind=kind, used_bytes=used, gpu_instance_id=instance)
            found.setdefault((pid, instance), context)
    return tuple(found.values()) if listed else None


def _address(answer: Json) -> PciAddress | None:
    """Built from numbers: NVML's text has an upper-case, eight-digit domain. A GPU is function 0."""
    parts = _mapping(answer)
    domain, bus, device = (_number(parts.get(part)) for part in ("domain", "bus", "device"))
    if domain is None or bus is None or device is None:
        return None
    return PciAddress(domain=domain, bus=bus, device=device, function=0)


def _nodes(answer: Json) -> frozenset[int] | None:
    words = [word for word in answer if isinstance(word, int)] if isinstance(answer, list | tuple) else []
    return cpumask.from_words(words) or None


def _number(answer: Json) -> int | None:
    return answer if isinstance(answer, int) else None


def _text(answer: Json) -> str | None:
    return answer if isinstance(answer, str) else None


def _mapping(answer: Json) -> Mapping[str, Json]:
    return answer if isinstance(answer, Mapping) else {}
