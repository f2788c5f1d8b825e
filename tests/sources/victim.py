"""A process to look at: ``python victim.py [FILE]`` maps and touches memory of every kind, then obeys its stdin.
Before that it enters the cgroups whose cgroup.procs VICTIM_CGROUPS names, colons between them.

``threads 0 1``: a thread bound to each of these CPUs; ``many 10000``: so many idle threads; ``burn 0.3``: every bound
thread uses so much CPU time; ``exec``: becomes ``sleep``. Each command is answered by one line.
"""

import ctypes
import mmap
import os
import sys
import threading
import time

MIB = 1 << 20
ANON, HUGE, SHARED, NAMED = 48 * MIB, 32 * MIB, 8 * MIB, 16 * MIB


def touched(mapping: mmap.mmap) -> mmap.mmap:
    for page in range(0, len(mapping), mmap.PAGESIZE):
        mapping[page] = 1
    return mapping


def map_everything(file: str | None) -> list[mmap.mmap]:
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    huge = mmap.mmap(-1, HUGE, flags=private)
    huge.madvise(mmap.MADV_HUGEPAGE)
    named = os.memfd_create("ring buffer")
    os.ftruncate(named, NAMED)
    mappings = [
        mmap.mmap(-1, ANON, flags=private),
        huge,
        mmap.mmap(-1, SHARED, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS),
        mmap.mmap(named, NAMED),
    ]
    if file is not None:
        with open(file, "r+b") as opened:
            mappings.append(mmap.mmap(opened.fileno(), 0))
    return [touched(mapping) for mapping in mappings]


class Burner(threading.Thread):
    """A thread bound to one CPU that burns CPU time when told."""

    def __init__(self, cpu: int) -> None:
        super().__init__(daemon=True)
        self.cpu = cpu
        self.seconds = 0.0
        self.go = threading.Event()
        self.done = threading.Event()
        self.bound = threading.Event()

    def run(self) -> None:
        os.sched_setaffinity(0, {self.cpu})
        self.bound.set()
        while True:
            self.go.wait()
            self.go.clear()
            until = time.thread_time() + self.seconds
            while time.thread_time() < until:
                pass
            self.done.set()


def main() -> None:
    for procs in filter(None, os.environ.get("VICTIM_CGROUPS", "").split(":")):
        with open(procs, "w") as entrance:
            entrance.write("0")
    kept = map_everything(sys.argv[1] if len(sys.argv) > 1 else None)
    threading.stack_size(64 << 10)
    burners: list[Burner] = []
    never = threading.Event()
    print("ready", flush=True)
    for command, *words in map(str.split, sys.stdin):
        if command == "threads":
            burners += [Burner(int(word)) for word in words]
            for burner in burners:
                burner.start()
                burner.bound.wait()
        elif command == "many":
            for _ in range(int(words[0])):
                threading.Thread(target=never.wait, daemon=True).start()
        elif command == "burn":
            for burner in burners:
                burner.seconds = float(words[0])
                burner.done.clear()
                burner.go.set()
            for burner in burners:
                burner.done.wait()
        elif command == "exec":
            os.execvp("sleep", ["sleep", "600"])
        print(" ".join(str(burner.native_id) for burner in burners), flush=True)
    del kept


if __name__ == "__main__":
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG: no victim outlives its test
    main()
