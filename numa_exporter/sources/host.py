"""The doors to the outside, and the words in which a door says no.

A Host is wholly live or wholly replayed; the two never mix. Paths are logical ("/proc/4242/numa_maps"): only a live
host knows below which roots they lie. Whatever goes through a door can be recorded, so a bundle holds by
construction every answer that a report rests on.
"""

import errno
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from numa_exporter.model.health import Failure, FailureWord
from numa_exporter.model.recording import Json
from numa_exporter.model.sample import Mode

READ_LIMIT = 32 << 20
"""Longest file read whole. The longest is /proc/interrupts, 11 bytes for each CPU and line: 10 MiB with 384 CPUs and
2,500 lines. A longer file is not what we take it for."""


class HostError(Exception):
    """A door said no. ``word`` is one of the five, ``path`` logical, ``detail`` what the kernel or library said."""

    def __init__(self, word: FailureWord, path: str, detail: str) -> None:
        super().__init__(f"{path}: {word}: {detail}")
        self.word: FailureWord = word
        self.path = path
        self.detail = detail

    def failure(self) -> Failure:
        return Failure(word=self.word, path=self.path, detail=self.detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """One moment on both clocks, in seconds: wall time, and the clock that never jumps."""

    wall: float
    monotonic: float


PresentEdges = tuple[Sequence[int], float]
"""Start, end, start, end … of present pages in bytes, ascending, and the thread CPU seconds of the slowest call. No
class: a look asks hundreds of times."""


class PageTables(Protocol):
    """The page tables of one process, opened for one look."""

    def present(self, start: int, end: int, max_pages: int = 0) -> PresentEdges:
        """Present pages of [start, end), the zero page left out: all, or only the first ``max_pages`` if that is not
        0. Pages of transparent and hugetlb pages are base pages here. Raises HostError."""
        ...


class Host(Protocol):
    """Files, process queries, NVML, kubelet and clocks of one machine. Every method may raise HostError."""

    @property
    def mode(self) -> Mode: ...

    @property
    def nodename(self) -> str: ...

    def read(self, path: str, *, single: bool = False) -> bytes:
        """The whole file (at most READ_LIMIT bytes; a longer one is garbled). ``single``: the kernel writes it in one
        piece (single_open, fs/seq_file.c), so one call has it all: a third cheaper, for what is read by the thousand.
        """
        ...

    def stream(self, path: str, block: int) -> Iterator[bytes]:
        """The file in blocks of at most ``block`` bytes; a small one keeps seq_file's lock holds short."""
        ...

    def list(self, path: str) -> Sequence[str]:
        """Names in a directory, sorted."""
        ...

    def readlink(self, path: str) -> str:
        """A link's own text."""
        ...

    def realpath(self, path: str) -> str:
        """The logical path behind all links."""
        ...

    def device_number(self, path: str) -> tuple[int, int] | None:
        """(major, minor) behind a path if it is a character device, else None. Follows links (st_rdev)."""
        ...

    def affinity(self, tid: int) -> bytes:
        """sched_getaffinity's mask of a thread: little-endian bytes, bit n = CPU n. No capability needed."""
        ...

    def page_nodes(self, pid: int, addresses: Sequence[int]) -> Sequence[int]:
        """move_pages in query mode: one status per address, a node id or a negative errno. Moves nothing. Asked in
        calls of at most 128 addresses with a pause between: a call keeps the target's own mmap calls waiting. PID 0 is
        ourselves."""
        ...

    def page_tables(self, pid: int) -> AbstractContextManager[PageTables]:
        """PAGEMAP_SCAN, open while the block runs; ``absent`` before Linux 6.7, ``denied`` without the right to open
        /proc/PID/pagemap."""
        ...

    def hugetlbfs_devices(self) -> Sequence[tuple[int, int]]:
        """(major, minor) of the kernel's own hugetlbfs mounts, one for each huge page size: memfd and SysV segments of
        huge pages lie there. No mountinfo has them."""
        ...

    def longest_hold(self, pid: int, label: str) -> float:
        """Wall seconds of the longest single call that could hold this process's mmap lock since this was last asked;
        0 if there was none. The label names the moment."""
        ...

    def nvml(self, function: str, *arguments: int | str) -> Json:
        """One question to NVML, by its name without the prefix; see sources/nvml.py for the questions."""
        ...

    def kubelet(self, method: str, request: bytes = b"") -> bytes:
        """One question to the kubelet's PodResources API: a serialised request, the serialised reply. Not decoded
        here, so that a recording keeps what a newer kubelet says; see sources/grpc_socket.py."""
        ...

    def container_labels(self, container_id: str) -> Mapping[str, str]:
        """The kubelet's own labels on a container, from the runtime's CRI socket; see formats/cri.py. Empty where the
        runtime does not know it, ``absent`` where the socket is not asked. Nothing else of the answer goes through the
        door: annotations hold what people wrote."""
        ...

    def pick(self, path: str, *members: str) -> Mapping[str, str]:
        """Those of these members of a JSON file that are text; ``annotations/a.b`` is a member of a member. Nothing
        else of the file goes through the door: beside a container's name stand its secrets."""
        ...

    def environment(self, pid: int, variable: str) -> str | None:
        """One variable of a process's environment, and no other: the rest holds secrets. None where it is not set."""
        ...

    def now(self, label: str) -> Instant:
        """Both clocks. The label names the moment, so that a replay gives each reader its own stamps back."""
        ...

    def seed(self, label: str) -> int:
        """A seed for random draws: fresh when live, the recorded one in a replay."""
        ...

    def started(self, pid: int, label: str) -> int:
        """When a process started, in clock ticks since boot. The label names the moment, as in ``now``: several
        readers look, and none may put its stat in the place of another's in a recording."""
        ...

    def give_up(self, path: str, detail: str) -> HostError:
        """The error ``stuck`` for a read that passed its deadline, to be raised by the one who waited for it.
        Recorded, so that a replay gives up where the live reader did."""
        ...

    def gave_up(self, path: str) -> HostError | None:
        """The error of a ``give_up`` that was recorded for this look; None when live."""
        ...


_WORDS: dict[int, FailureWord] = {
    errno.ENOENT: "absent",
    errno.ENOTDIR: "absent",
    errno.ENODEV: "absent",
    errno.ENXIO: "absent",
    errno.ENOSYS: "absent",
    # What sysfs files answer where the hardware has no such value (PCI link speed, numa_status under MIG).
    errno.EINVAL: "absent",
    errno.EOPNOTSUPP: "absent",
    errno.ENODATA: "absent",
    errno.EIO: "absent",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.ESRCH: "gone",
}


def word_of(error: OSError, path: str) -> FailureWord:
    """The failure word of an OSError. A missing file below /proc/PID means that the process went away."""
    word = _WORDS.get(error.errno or 0, "garbled")
    if word == "absent" and path.startswith("/proc/") and path[6:7].isdigit():
        return "gone"
    return word
