"""/proc/PID/stat and /proc/PID/task/TID/stat.

Documentation/filesystems/proc.rst, table 1-4; fs/proc/array.c:do_task_stat::

    4242 (VLLM::Worker_TP) S 1 4242 4242 0 -1 4194304 9 0 0 0 812 96 0 0 20 0 8 0 98765 … 17 3 0 0 …
    2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 3 0 0 20 0 1 0 7 0 0 …
    77 (a) b) R 1 77 77 0 -1 0 …

Times are clock ticks (sysconf(_SC_CLK_TCK) a second), the start time ticks since boot. The name may hold
blanks, parentheses, newlines and bytes that are no UTF-8: everything is counted from the last ``)``.
A reader without the right to ptrace sees zeros for addresses only.
"""

from dataclasses import dataclass

from numa_exporter.formats.parse_error import ParseError

PF_KTHREAD = 0x00200000
"""include/linux/sched.h"""

_EXPECTED = "PID (NAME) STATE and at least 19 numbers"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStat:
    """Of a process: the sums over its threads; of a thread: its own. ``processor`` is the CPU last run on."""

    pid: int
    comm: bytes
    state: str
    ppid: int
    pgrp: int
    flags: int
    user_ticks: int
    system_ticks: int
    threads: int
    start_ticks: int
    processor: int | None

    @property
    def kernel_thread(self) -> bool:
        """True for a thread of the kernel: it has no memory of its own."""
        return bool(self.flags & PF_KTHREAD)

    @property
    def cpu_ticks(self) -> int:
        """User and system time."""
        return self.user_ticks + self.system_ticks


def parse(data: bytes, path: str) -> TaskStat:
    """Raises ParseError for a truncated or malformed record."""
    opening, closing = data.find(b" ("), data.rfind(b") ")
    # Fields are numbered from 1 in proc(5); the first behind the name is number 3.
    fields = data[closing + 2 :].split(None, 37)
    try:
        if not 0 < opening < closing:
            raise ValueError("no name in parentheses")
        return TaskStat(
            pid=int(data[:opening]),
            comm=data[opening + 2 : closing],
            state=fields[0].decode("ascii"),
            ppid=int(fields[1]),
            pgrp=int(fields[2]),
            flags=int(fields[6]),
            user_ticks=int(fields[11]),
            system_ticks=int(fields[12]),
            threads=int(fields[17]),
            start_ticks=int(fields[19]),
            processor=int(fields[36]) if len(fields) > 36 else None,
        )
    except (ValueError, IndexError) as error:
        raise ParseError(path, 1, data, _EXPECTED) from error
