"""The live host: this kernel's files, processes, clocks, NVML and kubelet; and a foreign tree, files only."""

import ctypes
import errno
import os
import random
import stat
import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import NoReturn

from numa_exporter.formats import cri, excerpt, task_stat
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.model.recording import Json
from numa_exporter.model.sample import Mode
from numa_exporter.sources import hugetlbfs, pagemap
from numa_exporter.sources.grpc_socket import GrpcSocket
from numa_exporter.sources.host import READ_LIMIT, HostError, Instant, PageTables, word_of
from numa_exporter.sources.nvml import Nvml
from numa_exporter.sources.pagemap import PAUSE
from numa_exporter.sources.roots import Roots

ADDRESSES = 128
"""Of one move_pages call: the call is the unit of harm. 128 and a pause went unnoticed by the target's mmap loop."""


class LiveHost:
    """The machine that we run on. ``lock_hold_seconds`` sums the wall time of calls that can hold a workload's mmap
    lock, an upper bound of the harm done."""

    mode: Mode = "live"

    def __init__(
        self,
        roots: Roots,
        nvml: Nvml | None = None,
        kubelet: GrpcSocket | None = None,
        runtime: GrpcSocket | None = None,
    ) -> None:
        self._roots = roots
        self._nvml = nvml
        self._kubelet = kubelet
        self._runtime = runtime
        self._random = random.SystemRandom()
        self._mask = ctypes.c_char * 128
        self.lock_hold_seconds = 0.0
        self._longest: dict[int, float] = {}
        self._hugetlbfs: Sequence[tuple[int, int]] | None = None

    @property
    def nodename(self) -> str:
        # In a container uname tells the container's own name; the host's is in the host's files.
        own = os.uname().nodename
        return own if self._roots.rootfs == "/" else self._named_in_files() or own

    def _named_in_files(self) -> str | None:
        try:
            return self.read("/etc/hostname").decode("utf-8", "replace").strip() or None
        except HostError:
            return None

    def read(self, path: str, *, single: bool = False) -> bytes:
        try:
            descriptor = os.open(self._roots.real(path), os.O_RDONLY | os.O_CLOEXEC)
            try:
                return os.read(descriptor, _BLOCK) if single else _read_whole(descriptor, path)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise HostError(word_of(error, path), path, error.strerror or str(error)) from error

    def stream(self, path: str, block: int) -> Iterator[bytes]:
        pid = _process(path)
        try:
            descriptor = os.open(self._roots.real(path), os.O_RDONLY | os.O_CLOEXEC)
            try:
                while True:
                    began = time.monotonic()
                    data = os.read(descriptor, block)
                    self._held(pid, time.monotonic() - began)
                    if not data:
                        return
                    yield data
            finally:
                os.close(descriptor)
        except OSError as error:
            raise HostError(word_of(error, path), path, error.strerror or str(error)) from error

    def list(self, path: str) -> Sequence[str]:
        try:
            return sorted(os.listdir(self._roots.real(path)))
        except OSError as error:
            raise HostError(word_of(error, path), path, error.strerror or str(error)) from error

    def readlink(self, path: str) -> str:
        try:
            return os.readlink(self._roots.entry(path))
        except OSError as error:
            raise HostError(word_of(error, path), path, error.strerror or str(error)) from error

    def realpath(self, path: str) -> str:
        try:
            return self._roots.resolve(path)
        except OSError as error:
            raise HostError(word_of(error, path), path, error.strerror or str(error)) from error

    def device_number(self, path: str) -> tuple[int, int] | None:
        try:
            found = os.stat(self._roots.real(path))
        except OSError as error:
            raise HostError(word_of(error, path), path, error.strerror or str(error)) from error
        if not stat.S_ISCHR(found.st_mode):
            return None
        return os.major(found.st_rdev), os.minor(found.st_rdev)

    def affinity(self, tid: int) -> bytes:
        # os.sched_getaffinity builds a set of Python ints per thread; the raw mask is 5 times cheaper and hashable.
        mask = self._mask()
        got = _LIBC.syscall(_SCHED_GETAFFINITY, tid, len(mask), mask)
        if got < 0:
            code, path = ctypes.get_errno(), f"/proc/{tid}/affinity"
            if code == errno.EINVAL and len(mask) < 1 << 16:  # the kernel's mask is wider than ours
                self._mask = ctypes.c_char * (2 * len(mask))
                return self.affinity(tid)
            raise HostError(word_of(OSError(code, ""), path), path, os.strerror(code))
        return mask.raw[:got]

    def page_nodes(self, pid: int, addresses: Sequence[int]) -> Sequence[int]:
        if not self._same_pids():
            raise HostError("absent", f"/proc/{pid}/move_pages", "/proc is of another PID namespace (hostPID)")
        count = len(addresses)
        pages, status = array("Q", addresses), array("i", bytes(4 * count))
        page_at, status_at = pages.buffer_info()[0], status.buffer_info()[0]
        for at in range(0, count, ADDRESSES):
            if at:
                time.sleep(PAUSE)
            self._move_pages(pid, min(ADDRESSES, count - at), page_at + 8 * at, status_at + 4 * at)
        return status.tolist()

    def _same_pids(self) -> bool:
        """Whether a PID below our /proc is that PID to a system call of ours: with another namespace's /proc we would
        ask about a stranger."""
        try:
            return os.readlink(self._roots.below("/proc/self")) == str(os.getpid())
        except OSError:
            return False

    def _move_pages(self, pid: int, count: int, pages: int, status: int) -> None:
        began = time.monotonic()
        result = _LIBC.syscall(
            _MOVE_PAGES, pid, ctypes.c_ulong(count), ctypes.c_void_p(pages), None, ctypes.c_void_p(status), 0
        )
        self._held(pid, time.monotonic() - began)
        if result < 0:
            code, path = ctypes.get_errno(), f"/proc/{pid}/move_pages"
            # ENOSYS is the kernel's word, not the process's: there is no NUMA in it.
            word = "absent" if code == errno.ENOSYS else word_of(OSError(code, ""), path)
            raise HostError(word, path, os.strerror(code))

    def page_tables(self, pid: int) -> AbstractContextManager[PageTables]:
        path = f"/proc/{pid}/pagemap"
        return pagemap.opened(self._roots.below(path), path, partial(self._held, pid))

    def hugetlbfs_devices(self) -> Sequence[tuple[int, int]]:
        if self._hugetlbfs is None:
            self._hugetlbfs = hugetlbfs.own_devices()
        return self._hugetlbfs

    def longest_hold(self, pid: int, label: str) -> float:
        return self._longest.pop(pid, 0.0)

    def _held(self, pid: int, seconds: float, longest: float | None = None) -> None:
        """Note a call that may have held a process's mmap lock; or several, and the longest of them."""
        self.lock_hold_seconds += seconds
        self._longest[pid] = max(longest or seconds, self._longest.get(pid, 0.0))

    def nvml(self, function: str, *arguments: int | str) -> Json:
        if self._nvml is None:
            raise HostError("absent", f"nvml:{function}", "NVML is not asked on this host")
        return self._nvml.ask(function, *arguments)

    def kubelet(self, method: str, request: bytes = b"") -> bytes:
        if self._kubelet is None:
            raise HostError("absent", f"kubelet:{method}", "no kubelet is asked on this host")
        return self._kubelet.ask(method, request)

    def container_labels(self, container_id: str) -> Mapping[str, str]:
        path = f"cri:{cri.METHOD}"
        if self._runtime is None:
            raise HostError("absent", path, "the runtime's CRI socket is not asked on this host")
        reply = self._runtime.ask(cri.METHOD, cri.request(container_id))
        try:
            return cri.parse(reply, path).get(container_id, {})
        except ParseError as error:
            raise HostError("garbled", path, f"expected {error.expected}") from None

    def pick(self, path: str, *members: str) -> Mapping[str, str]:
        try:
            return excerpt.members(self.read(path), path, members)
        except ParseError as error:
            raise HostError("garbled", path, f"line {error.line_number}: expected {error.expected}") from None

    def environment(self, pid: int, variable: str) -> str | None:
        path = f"/proc/{pid}/environ"
        began = time.monotonic()
        data = self.read(path)
        self.lock_hold_seconds += time.monotonic() - began
        return excerpt.variable(data, variable)

    def now(self, label: str) -> Instant:
        return Instant(wall=time.time(), monotonic=time.monotonic())

    def seed(self, label: str) -> int:
        return self._random.getrandbits(63)

    def started(self, pid: int, label: str) -> int:
        path = f"/proc/{pid}/stat"
        return task_stat.parse(self.read(path, single=True), path).start_ticks

    def give_up(self, path: str, detail: str) -> HostError:
        return HostError("stuck", path, detail)

    def gave_up(self, path: str) -> HostError | None:
        return None


class ForeignTree(LiveHost):
    """Another machine's files below a root: no NVML, no process queries. Its evidence can never act on this kernel."""

    mode: Mode = "replay"

    @property
    def nodename(self) -> str:
        return self._named_in_files() or "unknown"

    def affinity(self, tid: int) -> bytes:
        raise HostError("absent", f"/proc/{tid}/affinity", "a foreign tree has no processes to ask")

    def page_nodes(self, pid: int, addresses: Sequence[int]) -> Sequence[int]:
        raise HostError("absent", f"/proc/{pid}/move_pages", "a foreign tree has no processes to ask")

    def page_tables(self, pid: int) -> NoReturn:
        raise HostError("absent", f"/proc/{pid}/pagemap", "a foreign tree has no processes to ask")

    def hugetlbfs_devices(self) -> Sequence[tuple[int, int]]:
        return ()


def _process(path: str) -> int:
    """The PID in a path below /proc; 0 (ourselves) for any other."""
    name = path.split("/")[2] if path.startswith("/proc/") else ""
    return int(name) if name.isdigit() else 0


_BLOCK = 1 << 16


def _read_whole(descriptor: int, path: str) -> bytes:
    # Sizes of pseudo-files lie: read to the end, never fstat. One read() takes most of them.
    data = os.read(descriptor, _BLOCK)
    if not data:
        return data
    parts = [data]
    size = len(data)
    while data := os.read(descriptor, _BLOCK):
        parts.append(data)
        size += len(data)
        if size > READ_LIMIT:
            raise HostError("garbled", path, f"longer than {READ_LIMIT} bytes")
    return b"".join(parts)


_LIBC = ctypes.CDLL(None, use_errno=True)
_MACHINE = os.uname().machine
# asm/unistd.h; aarch64 and riscv64 share asm-generic's numbers.
_MOVE_PAGES = {"x86_64": 279, "ppc64le": 301, "s390x": 310}.get(_MACHINE, 239)
_SCHED_GETAFFINITY = {"x86_64": 204, "ppc64le": 223, "s390x": 240}.get(_MACHINE, 123)
