"""/proc/driver/nvidia/params: the options that the NVIDIA module was loaded with.

open-gpu-kernel-modules, kernel-open/nvidia/nv-procfs.c:nv_procfs_read_params::

    ResmanDebugLevel: 4294967295
    DeviceFileMode: 438
    CoherentGPUMemoryMode: "driver"
    RegistryDwords: ""

No units. CoherentGPUMemoryMode decides whether a GH200's or GB200's memory becomes a NUMA node: ``numa`` or
``driver``. Empty is the driver's own default, which changed between releases: look at numa_status then.
"""

from collections.abc import Mapping

from numa_exporter.formats.parse_error import ParseError


def parse(data: bytes, path: str) -> Mapping[str, str]:
    """The options by name, without their quotes; raises ParseError for a line that is none."""
    params: dict[str, str] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line:
            continue
        key, colon, value = line.decode("utf-8", "backslashreplace").partition(":")
        if not colon or not key.strip():
            raise ParseError(path, number, line, "'Name: value'")
        params[key.strip()] = value.strip().strip('"')
    return params


def coherent_memory_mode(params: Mapping[str, str]) -> str | None:
    """``numa`` or ``driver``; None where nobody asked for either, or the driver is too old to know the option."""
    return params.get("CoherentGPUMemoryMode") or None
