"""/proc/interrupts: how often each interrupt fired on each CPU.

fs/proc/interrupts.c, kernel/irq/proc.c:show_interrupts, arch/*/kernel/irq.c:arch_show_interrupts. The header
names the *online* CPUs; rows below it are wide on large machines::

               CPU0       CPU1       CPU2       CPU3
     42:     378324    1734637     440240    2434308  IR-PCI-MSI-edge      mlx5_comp0@pci:0000:8d:00.0
    LOC:  174326351  135776678  168393257  130980079   Local timer interrupts
    IPI0:2768808080 2844211768 2878602432 2730576120       Rescheduling interrupts
    ERR:          0

Counts since boot, 32 bits wide: they wrap. Numbered rows are a device's (/sys/bus/pci/devices/*/msi_irqs, irq);
named rows are the architecture's, and a few of them (ERR, MIS, Err, BAD) count for the machine, not for a CPU.
"""

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass

from numa_exporter.formats import number
from numa_exporter.formats.parse_error import ParseError

_CPU = re.compile(rb"CPU([0-9]{1,9})")
_MACHINE_WIDE = frozenset({"ERR", "MIS", "Err", "BAD"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupts:
    """``fired[row]`` has one count for each CPU of ``cpus``, in that order; a row is ``"42"`` or ``"LOC"``."""

    cpus: tuple[int, ...]
    fired: Mapping[str, tuple[int, ...]]


def parse(data: bytes, path: str, rows: Container[str] | None = None) -> Interrupts:
    """All rows, or only those named: on a large machine the few of one device are a thousandth of the file.

    Raises ParseError where the header is no list of CPUs or a wanted row has not one count for each of them.
    """
    header, _, body = data.partition(b"\n")
    names = [_CPU.fullmatch(word) for word in header.split()]
    cpus = tuple(int(name[1]) for name in names if name)
    if not cpus or len(cpus) != len(names):
        raise ParseError(path, 1, header, "a header 'CPU0 CPU1 …'")
    fired: dict[str, tuple[int, ...]] = {}
    for line_number, line in enumerate(body.splitlines(), 2):
        label, colon, rest = line.partition(b":")
        row = label.strip().decode("ascii", "backslashreplace")
        if not colon:
            if row:
                raise ParseError(path, line_number, line, "'ROW: COUNT COUNT …'")
            continue
        if row in _MACHINE_WIDE or (rows is not None and row not in rows):
            continue
        counts = rest.split(None, len(cpus))[: len(cpus)]
        if len(counts) != len(cpus) or not all(map(number.countable, counts)):
            raise ParseError(path, line_number, line, f"{len(cpus)} counts, one for each CPU of the header")
        fired[row] = tuple(map(int, counts))
    return Interrupts(cpus=cpus, fired=fired)
