"""The questions that NVML can be asked, by NVML's own names, and its answers as JSON.

The table is all that the exporter wants of nvml.h; sources/nvml.py, which owns pynvml, hands the module in. A device
is named by its index and, where a MIG device of it is meant, that one's index too: ``("DeviceGetUUID", 0, 2)``.
"""

from collections.abc import Callable, Mapping
from typing import Any

from numa_exporter.model.recording import Json

Pynvml = Any
Handle = Any

NODE_WORDS = 16
"""64-bit words of a node mask: room for 1,024 nodes, the kernel's largest MAX_NUMNODES."""

_NO_INSTANCE = 0xFFFFFFFF  # nvml.h: "no GPU instance", the device is not in MIG mode


def _processes(kind: str) -> Callable[[Pynvml, Handle], Json]:
    """Rows ``[pid, used bytes, GPU instance id]``; the last two null where the driver has no figure."""

    def ask(nvml: Pynvml, handle: Handle) -> Json:
        try:
            listed = getattr(nvml, f"nvmlDeviceGet{kind}RunningProcesses_v3")(handle)
        except nvml.NVMLError_FunctionNotFound:  # before R510; the layout is the same
            listed = getattr(nvml, f"nvmlDeviceGet{kind}RunningProcesses_v2")(handle)
        return [[each.pid, each.usedGpuMemory, _instance(each.gpuInstanceId)] for each in listed]

    return ask


def _instance(number: int | None) -> int | None:
    return None if number in (None, _NO_INSTANCE) else number


def _pci(nvml: Pynvml, handle: Handle) -> Json:
    """Numbers, not busId: its text has another width than sysfs's."""
    found = nvml.nvmlDeviceGetPciInfo(handle)
    return {"domain": found.domain, "bus": found.bus, "device": found.device}


def _memory_affinity(nvml: Pynvml, handle: Handle) -> Json:
    """64-bit words of the node mask, lowest first; scope NODE."""
    return list(nvml.nvmlDeviceGetMemoryAffinity(handle, NODE_WORDS, nvml.NVML_AFFINITY_SCOPE_NODE))


def _pcie_bytes(nvml: Pynvml, handle: Handle) -> Json:
    """Bytes since driver load that the GPU sent (``tx``) and received (``rx``); null where unsupported."""
    fields = {"tx": nvml.NVML_FI_DEV_PCIE_COUNT_TX_BYTES, "rx": nvml.NVML_FI_DEV_PCIE_COUNT_RX_BYTES}
    values = nvml.nvmlDeviceGetFieldValues(handle, list(fields.values()))
    return {
        direction: value.value.ullVal if value.nvmlReturn == nvml.NVML_SUCCESS else None
        for direction, value in zip(fields, values, strict=True)
    }


OF_SYSTEM: Mapping[str, Callable[[Pynvml], Json]] = {
    "DeviceGetCount": lambda nvml: int(nvml.nvmlDeviceGetCount()),
    "SystemGetDriverVersion": lambda nvml: str(nvml.nvmlSystemGetDriverVersion()),
}

OF_DEVICE: Mapping[str, Callable[[Pynvml, Handle], Json]] = {
    "DeviceGetUUID": lambda nvml, handle: str(nvml.nvmlDeviceGetUUID(handle)),
    "DeviceGetName": lambda nvml, handle: str(nvml.nvmlDeviceGetName(handle)),
    "DeviceGetMinorNumber": lambda nvml, handle: int(nvml.nvmlDeviceGetMinorNumber(handle)),
    "DeviceGetPciInfo": _pci,
    "DeviceGetMemoryAffinity": _memory_affinity,
    "DeviceGetC2cModeInfoV": lambda nvml, handle: bool(nvml.nvmlDeviceGetC2cModeInfoV(handle).isC2cEnabled),
    "DeviceGetCurrPcieLinkWidth": lambda nvml, handle: int(nvml.nvmlDeviceGetCurrPcieLinkWidth(handle)),
    "DeviceGetMaxPcieLinkWidth": lambda nvml, handle: int(nvml.nvmlDeviceGetMaxPcieLinkWidth(handle)),
    "DeviceGetFieldValues": _pcie_bytes,
    "DeviceGetMigMode": lambda nvml, handle: bool(nvml.nvmlDeviceGetMigMode(handle)[0]),
    "DeviceGetMaxMigDeviceCount": lambda nvml, handle: int(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)),
    "DeviceGetGpuInstanceId": lambda nvml, handle: int(nvml.nvmlDeviceGetGpuInstanceId(handle)),
    "DeviceGetComputeInstanceId": lambda nvml, handle: int(nvml.nvmlDeviceGetComputeInstanceId(handle)),
    "DeviceGetComputeRunningProcesses": _processes("Compute"),
    "DeviceGetGraphicsRunningProcesses": _processes("Graphics"),
    "DeviceGetMPSComputeRunningProcesses": _processes("MPSCompute"),
}
