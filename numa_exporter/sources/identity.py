"""A process and no other: the sandwich of stat, read, stat.

Between two reads a process may exit and its PID be given away; then the second read tells of a stranger. The start
time (stat, field 22) differs, so whatever was read between two equal start times is of the one process. It says
nothing of exec, which keeps PID and start time: a reader that cares looks at what it got (see memory.py).
"""

from collections.abc import Iterator
from contextlib import contextmanager

from numa_exporter.model.ids import ProcessKey
from numa_exporter.sources.host import Host, HostError


@contextmanager
def same_process(host: Host, key: ProcessKey, label: str) -> Iterator[None]:
    """Run the block between two looks at the start time; HostError ``gone`` if either is not ``key``'s."""
    _check(host, key, f"{label} before")
    yield
    _check(host, key, f"{label} after")


def alive(host: Host, key: ProcessKey, label: str) -> bool:
    """Whether the process still exists; other failures than ``gone`` escape."""
    try:
        _check(host, key, label)
    except HostError as error:
        if error.word == "gone":
            return False
        raise
    return True


def _check(host: Host, key: ProcessKey, label: str) -> None:
    started = host.started(key.pid, label)
    if started != key.start_ticks:
        raise HostError("gone", f"/proc/{key.pid}/stat", f"the PID now belongs to a process started at {started}")
