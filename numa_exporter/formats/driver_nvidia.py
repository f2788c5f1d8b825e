"""/proc/driver/nvidia: what the kernel driver says of its GPUs without any library.

kernel-open/nvidia/nv-procfs.c of open-gpu-kernel-modules::

    NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023        version

    Model: 		 NVIDIA GeForce RTX 3090                gpus/0000:01:00.0/information
    IRQ:   		 77
    GPU UUID: 	 GPU-eaf23aa1-4d3d-596c-da66-b86b0e5db584
    Bus Location: 	 0000:01:00.0
    Device Minor: 	 0

    Node:      255                                      gpus/0035:05:00.0/numa_status
    Status:    online
    Address:   40000000000
    Size:      3f0000000

A UUID that was not read from the card yet is all question marks. numa_status is there only where the GPU's own
memory can be a NUMA node (and fails under MIG): it names that node, never the one that the GPU hangs on.
"""

import re
from dataclasses import dataclass

from numa_exporter.formats import pci_address
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.formats.pci_address import PciAddress

_FIELD = re.compile(rb"([^:]+):[ \t]*(.*?)[ \t]*")
_MINOR = re.compile(r"[0-9]{1,9}")
_NODE = re.compile(r"-?[0-9]{1,9}")
_VERSION = re.compile(rb"NVRM version:[^\n]*?Kernel Module(?: for \S+)?\s+([0-9]+(?:\.[0-9]+)+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Information:
    """One GPU. ``minor`` is N of /dev/nvidiaN. None where the driver does not say."""

    model: str | None
    uuid: str | None
    address: PciAddress | None
    minor: int | None


def parse_information(data: bytes, path: str) -> Information:
    """Raises ParseError on a line that is not ``Key: value``, and on a file without a model."""
    fields = _fields(data, path)
    if "Model" not in fields:
        raise ParseError(path, 0, data[:80], "'Model: NAME' and further fields")
    uuid, minor = fields.get("GPU UUID"), fields.get("Device Minor", "")
    return Information(
        model=fields["Model"] or None,
        uuid=uuid if uuid and "?" not in uuid else None,
        address=pci_address.parse(fields.get("Bus Location", "")),
        minor=int(minor) if _MINOR.fullmatch(minor) else None,
    )


def parse_numa_status(data: bytes, path: str) -> int | None:
    """The node that holds the GPU's memory; None unless it is online."""
    fields = _fields(data, path)
    node = fields.get("Node", "")
    if _NODE.fullmatch(node) is None or "Status" not in fields:
        raise ParseError(path, 0, data[:80], "'Node: NUMBER' and 'Status: WORD'")
    return int(node) if fields["Status"] == "online" and int(node) >= 0 else None


def parse_version(data: bytes, path: str) -> str:
    """The version of the kernel module."""
    match = _VERSION.match(data)
    if match is None:
        raise ParseError(path, 1, data.partition(b"\n")[0], "'NVRM version: … Kernel Module  NUMBER.NUMBER'")
    return match[1].decode("ascii")


def _fields(data: bytes, path: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line_number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        match = _FIELD.fullmatch(line)
        if match is None:
            raise ParseError(path, line_number, line, "'Key: value'")
        fields[match[1].decode("utf-8", "replace").strip()] = match[2].decode("utf-8", "replace")
    return fields
