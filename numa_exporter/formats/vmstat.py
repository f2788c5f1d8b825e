"""/proc/vmstat: counters of automatic NUMA balancing and of migration.

mm/vmstat.c, Documentation/admin-guide/mm/numa_memory_policy.rst; the same lines as nodeN/vmstat and
nodeN/numastat (``name number``)::

    numa_pte_updates 0
    numa_hint_faults 5410
    numa_hint_faults_local 5103
    numa_pages_migrated 307
    pgmigrate_success 1048

Events since boot, in faults and in pages; the ``numa_*`` lines exist with CONFIG_NUMA_BALANCING and stand
still while kernel.numa_balancing is 0.
"""

from dataclasses import dataclass

from numa_exporter.formats import number
from numa_exporter.formats.parse_error import ParseError


@dataclass(frozen=True, slots=True, kw_only=True)
class Vmstat:
    """None where the kernel does not print the line."""

    numa_pte_updates: int | None
    numa_hint_faults: int | None
    numa_hint_faults_local: int | None
    numa_pages_migrated: int | None
    pgmigrate_success: int | None
    pgmigrate_fail: int | None


def counters(data: bytes, path: str) -> dict[str, int]:
    """Every ``name number`` line; raises ParseError on any other line and on an empty file."""
    found: dict[str, int] = {}
    for line_number, line in enumerate(data.splitlines(), 1):
        words = line.split()
        if len(words) != 2:
            raise ParseError(path, line_number, line, "'name NUMBER'")
        found[words[0].decode("ascii", "backslashreplace")] = number.count(words[1], path, line_number, line)
    if not found:
        raise ParseError(path, 0, b"", "'name NUMBER' lines")
    return found


def parse(data: bytes, path: str) -> Vmstat:
    """Raises ParseError on a line that is not ``name NUMBER``, and on an empty file."""
    found = counters(data, path)
    return Vmstat(
        numa_pte_updates=found.get("numa_pte_updates"),
        numa_hint_faults=found.get("numa_hint_faults"),
        numa_hint_faults_local=found.get("numa_hint_faults_local"),
        numa_pages_migrated=found.get("numa_pages_migrated"),
        pgmigrate_success=found.get("pgmigrate_success"),
        pgmigrate_fail=found.get("pgmigrate_fail"),
    )
