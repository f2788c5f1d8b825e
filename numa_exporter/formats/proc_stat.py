"""/proc/stat: where each CPU's time went, and when the machine started.

Documentation/filesystems/proc.rst section 1.7, fs/proc/stat.c:show_stat::

    cpu  102273 120 9577 197274 755 0 414 1048 0 0
    cpu0 52279 84 4965 97172 502 0 171 533 0 0
    cpu1 49993 36 4612 100101 253 0 242 515 0 0
    intr 1123296 0 0 …
    btime 1769860800

Clock ticks since boot (sysconf(_SC_CLK_TCK) a second): user nice system idle iowait irq softirq steal guest
guest_nice. Online CPUs only. A guest's time is in user and nice already and left out here; steal came with
2.6.11. iowait, and idle with it, can fall.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from numa_exporter.formats import number
from numa_exporter.formats.parse_error import ParseError

MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_OLDEST = 4  # user to idle


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcStat:
    """``cpus``: ticks by mode of each online CPU. ``boot_time``: wall-clock seconds, None where not printed."""

    cpus: Mapping[int, Mapping[str, int]]
    boot_time: float | None


def parse(data: bytes, path: str) -> ProcStat:
    """Raises ParseError on a broken line of a CPU or of btime, and on a file without the ``cpu`` line."""
    cpus: dict[int, dict[str, int]] = {}
    boot_time = None
    summed = False
    for line_number, line in enumerate(data.splitlines(), 1):
        if line.startswith(b"cpu"):
            name, *words = line.split()
            if len(words) < _OLDEST or not all(map(number.countable, words)):
                raise ParseError(path, line_number, line, "'cpuN USER NICE SYSTEM IDLE …' in ticks")
            if name == b"cpu":
                summed = True
            elif number.countable(name[3:]):
                cpus[int(name[3:])] = dict(zip(MODES, map(int, words), strict=False))
            else:
                raise ParseError(path, line_number, line, "'cpu' or 'cpuN'")
        elif line.startswith(b"btime "):
            boot_time = _seconds(line, path, line_number)
    if not summed:
        raise ParseError(path, 0, data[:80], "a 'cpu' line")
    return ProcStat(cpus=cpus, boot_time=boot_time)


def _seconds(line: bytes, path: str, line_number: int) -> float:
    word = line[6:].strip()
    if not number.countable(word):
        raise ParseError(path, line_number, line, "'btime SECONDS'")
    return float(word)


def seconds(ticks: Mapping[str, int], clock_ticks: int) -> dict[str, float]:
    """Ticks by mode as seconds by mode."""
    return {mode: count / clock_ticks for mode, count in ticks.items()}
