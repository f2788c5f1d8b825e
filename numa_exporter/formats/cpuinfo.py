"""/proc/cpuinfo: what kind of CPU, and whether it is a virtual one.

fs/proc/cpuinfo.c, arch/*/kernel/{cpu/proc,setup}.c: every architecture has its own keys::

    vendor_id       : AuthenticAMD                      x86, once for each CPU
    model name      : AMD EPYC 7451 24-Core Processor   x86, arm (32 bit), loongson
    flags           : fpu vme de … hypervisor lahf_lm   x86: CPUID leaf 1, ECX bit 31
    CPU implementer : 0x41                              arm and arm64, which name no model
    vendor_id       : IBM/S390                          s390
    cpu             : POWER7 (architected)              ppc

Only x86 says whether a hypervisor is beneath, unless that was told to hide (QEMU: -cpu host,-hypervisor).
"""

import re
from dataclasses import dataclass

from numa_exporter.formats.parse_error import ParseError

_FIELD = re.compile(rb"^([^\n:]*[^\s:])[ \t]*:[ \t]*([^\n]*?)[ \t]*$", re.MULTILINE)
_VENDOR = (b"vendor_id", b"CPU implementer")
_MODEL = (b"model name", b"Processor", b"cpu model", b"cpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpuinfo:
    """Of the first CPU; None where this architecture does not say. ``vendor`` is a hexadecimal code on arm."""

    vendor: str | None
    model: str | None
    hypervisor: bool | None


def parse(data: bytes, path: str) -> Cpuinfo:
    """Raises ParseError where no line is ``key : value``."""
    first: dict[bytes, bytes] = {}
    for match in _FIELD.finditer(data):
        first.setdefault(match[1], match[2])
    if not first:
        raise ParseError(path, 0, data[:80], "'key : value' lines")
    flags = first.get(b"flags")
    return Cpuinfo(
        vendor=_text(first, _VENDOR),
        model=_text(first, _MODEL),
        hypervisor=None if flags is None else b"hypervisor" in flags.split(),
    )


def _text(fields: dict[bytes, bytes], keys: tuple[bytes, ...]) -> str | None:
    value = next((fields[key] for key in keys if fields.get(key)), None)
    return value.decode("utf-8", "backslashreplace") if value else None
