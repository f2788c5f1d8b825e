"""Run in the guest: a process that holds memory where it is told to, says so in one JSON line, and waits.

    python -m tests.lab.holder policy=bind:1 hold=anon:24 policy=bind:0 hold=anon:8 fork=2 thread=4-7

The steps are done in order, so pages can be placed before a bind:
    cpus=LIST        the whole process runs on these CPUs
    policy=MODE[:NODES]  set_mempolicy(2); MODE is one of MODES
    hold=BACKING:MIB     memory of that backing, every page touched; BACKING is one of those in Holder
    open=PATH        a device kept open
    fork=N           children that share the memory so far
    thread=LIST      a thread on these CPUs; busy=1 before it makes all threads from then on, main included, spin
"""

import ctypes
import json
import mmap
import os
import signal
import sys
import tempfile
import threading
from types import MappingProxyType

from tests.lab.topology import ids

SET_MEMPOLICY = 238  # x86-64
# include/uapi/linux/mempolicy.h
MODES = MappingProxyType(
    {"default": 0, "prefer": 1, "bind": 2, "interleave": 3, "local": 4, "prefer_many": 5, "weighted": 6}
)
MAP_HUGETLB = 0x40000
HUGE = 2 << 20
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
SHARED = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS


def set_mempolicy(mode: str, nodes: str = "") -> None:
    """Sets the calling thread's policy. OSError where the kernel does not know the mode (EINVAL)."""
    libc = ctypes.CDLL(None, use_errno=True)
    mask = ctypes.c_ulong(sum(1 << node for node in ids(nodes)))
    given = (ctypes.byref(mask), ctypes.c_ulong(65)) if nodes else (None, ctypes.c_ulong(0))
    if libc.syscall(SET_MEMPOLICY, MODES[mode], *given):
        error = ctypes.get_errno()
        raise OSError(error, f"set_mempolicy({mode}:{nodes}): {os.strerror(error)}")


class Holder:
    """The steps, and what they left: `regions` is (backing, address, length in bytes)."""

    def __init__(self) -> None:
        self.regions: list[tuple[str, int, int]] = []
        self.children: list[int] = []
        self.threads: dict[int, str] = {}
        self._busy = False
        self._maps: list[mmap.mmap] = []

    def step(self, name: str, argument: str) -> None:
        match name:
            case "cpus":
                os.sched_setaffinity(0, ids(argument))
            case "policy":
                set_mempolicy(*argument.split(":"))
            case "hold":
                backing, mib = argument.split(":")
                self._hold(backing, int(mib) << 20)
            case "open":
                os.open(argument, os.O_RDONLY)
            case "fork":
                self.children += [_fork() for _ in range(int(argument))]
            case "busy":
                self._busy = True
            case "thread":
                self._start_thread(argument)
            case _:
                raise ValueError(f"no such step: {name}")

    def wait(self) -> None:
        while self._busy:
            pass
        signal.pause()

    def _hold(self, backing: str, size: int) -> None:
        # a huge page needs an aligned start: ask for one more and use the aligned part
        area = _map(backing, size + HUGE if backing == "thp" else size)
        start = ctypes.addressof(ctypes.c_char.from_buffer(area))
        if backing == "thp":
            start = -(-start // HUGE) * HUGE
        ctypes.memset(start, 1, size)
        self._maps.append(area)
        self.regions.append((backing, start, size))

    def _start_thread(self, cpus: str) -> None:
        ready = threading.Event()

        def body() -> None:
            os.sched_setaffinity(0, ids(cpus))  # 0 is the calling thread
            self.threads[threading.get_native_id()] = cpus
            ready.set()
            self.wait_in_thread()

        threading.Thread(target=body, daemon=True).start()
        ready.wait()

    def wait_in_thread(self) -> None:
        while self._busy:
            pass
        threading.Event().wait()


def _map(backing: str, size: int) -> mmap.mmap:
    match backing:
        case "anon":
            area = mmap.mmap(-1, size, flags=PRIVATE)
            area.madvise(mmap.MADV_NOHUGEPAGE)
            return area
        case "thp":
            area = mmap.mmap(-1, size, flags=PRIVATE)
            area.madvise(mmap.MADV_HUGEPAGE)
            return area
        case "hugetlb":
            return mmap.mmap(-1, size, flags=PRIVATE | MAP_HUGETLB)
        case "shmem_anon":  # /dev/zero (deleted): where CUDA's pinned host buffers were seen
            return mmap.mmap(-1, size, flags=SHARED)
        case "memfd":
            return _map_file(os.memfd_create("weights"), size)
        case "shm":
            with tempfile.TemporaryFile(dir="/dev/shm") as file:
                return _map_file(os.dup(file.fileno()), size)
        case "file":  # the job's folder is on 9p, so its pages are page cache; 9p loses files that are unlinked
            with open(f"{os.environ['LAB_OUT']}/weights-{os.getpid()}", "w+b") as file:
                return _map_file(os.dup(file.fileno()), size)
        case "driver":
            with open("/dev/nvidiactl", "r+b", buffering=0) as file:
                return mmap.mmap(file.fileno(), size)
    raise ValueError(f"no such backing: {backing}")


def _map_file(descriptor: int, size: int) -> mmap.mmap:
    os.ftruncate(descriptor, size)
    area = mmap.mmap(descriptor, size)
    os.close(descriptor)  # the mapping keeps it
    return area


def _fork() -> int:
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    return child


def main() -> None:
    holder = Holder()
    for argument in sys.argv[1:]:
        holder.step(*argument.split("=", 1))
    ready = {
        "pid": os.getpid(),
        "regions": holder.regions,
        "children": holder.children,
        "threads": holder.threads,
    }
    print(json.dumps(ready), flush=True)
    holder.wait()


if __name__ == "__main__":
    main()
