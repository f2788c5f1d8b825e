"""/proc/PID/schedstat and /proc/PID/task/TID/schedstat.

Documentation/scheduler/sched-stats.rst, fs/proc/base.c:proc_pid_schedstat::

    812345678 1234567 4321
    0 0 0

Nanoseconds on a CPU, nanoseconds runnable but waiting, and the number of times it ran. A process's file speaks
of its main thread only. Present with CONFIG_SCHED_INFO, whether or not schedstats are switched on.
"""

from typing import NamedTuple

from numa_exporter.formats.parse_error import ParseError

LONGEST = 128
"""Bytes; three numbers of 64 bits take half of it."""


class SchedStat(NamedTuple):
    """``run_ns`` and ``wait_ns`` only grow; ``timeslices`` counts runs. A tuple, for a look reads thousands."""

    run_ns: int
    wait_ns: int
    timeslices: int


def parse(data: bytes, path: str) -> SchedStat:
    """Raises ParseError unless there are three non-negative numbers."""
    words = data.split()
    if len(words) != 3 or not b"".join(words).isdigit() or len(data) > LONGEST:
        raise ParseError(path, 1, data.strip(), "three numbers: run ns, wait ns, timeslices")
    run, wait, timeslices = map(int, words)
    return SchedStat(run_ns=run, wait_ns=wait, timeslices=timeslices)
