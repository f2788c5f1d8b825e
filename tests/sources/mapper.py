"""A process whose pages are counted: ``python mapper.py STEP…`` maps, says "ready", obeys ``exec`` and ``exit``.

anon:MIB  thp:MIB  shmem_anon:MIB  memfd:MIB  hugetlb:MIB  huge_memfd:MIB
islands:GIB:COUNT    a reservation with so many 2 MiB islands in it
pages:GIB:COUNT      a reservation with so many single pages in it
copied:MIB           a private mapping of a file, every page written
node:N               what follows is allocated on this NUMA node (set_mempolicy, x86-64)
"""

import ctypes
import mmap
import os
import sys
import tempfile
from random import Random

MIB, HUGE = 1 << 20, 2 << 20
PRIVATE, SHARED = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS
MAP_HUGETLB, MAP_NORESERVE = 0x40000, 0x4000
SET_MEMPOLICY, MPOL_BIND = 238, 2


def touch(area: mmap.mmap, offset: int = 0, length: int | None = None) -> None:
    start = ctypes.addressof(ctypes.c_char.from_buffer(area))
    ctypes.memset(start + offset, 1, len(area) if length is None else length)


def on_file(descriptor: int, size: int, flags: int = mmap.MAP_SHARED) -> mmap.mmap:
    os.ftruncate(descriptor, size)
    return mmap.mmap(descriptor, size, flags=flags)


def whole(kind: str, size: int) -> mmap.mmap:
    """A mapping of which every page is to be touched."""
    match kind:
        case "anon" | "thp":
            area = mmap.mmap(-1, size, flags=PRIVATE)
            area.madvise(mmap.MADV_HUGEPAGE if kind == "thp" else mmap.MADV_NOHUGEPAGE)
            return area
        case "shmem_anon":
            return mmap.mmap(-1, size, flags=SHARED)
        case "memfd":
            return on_file(os.memfd_create("ring buffer"), size)
        case "hugetlb":
            return mmap.mmap(-1, size, flags=PRIVATE | MAP_HUGETLB)
        case "huge_memfd":
            return on_file(os.memfd_create("ring buffer", os.MFD_HUGETLB), size)
        case "copied":
            with tempfile.TemporaryFile(dir="/var/tmp") as file:
                return on_file(os.dup(file.fileno()), size, mmap.MAP_PRIVATE)
    raise ValueError(kind)


def scattered(gib: int, count: int, length: int) -> mmap.mmap:
    """A reservation with ``count`` touched pieces of ``length`` bytes."""
    area = mmap.mmap(-1, gib << 30, flags=PRIVATE | MAP_NORESERVE)
    area.madvise(mmap.MADV_NOHUGEPAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(area))
    for at in Random(1).sample(range((gib << 30) // length - 1), count):
        touch(area, at * length + -start % length, length)
    return area


def bind(node: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    mask = ctypes.c_ulong(1 << node)
    if libc.syscall(SET_MEMPOLICY, MPOL_BIND, ctypes.byref(mask), ctypes.c_ulong(65)):
        raise OSError(ctypes.get_errno(), f"set_mempolicy({node})")


def step(words: list[str]) -> mmap.mmap | None:
    if words[0] == "node":
        bind(int(words[1]))
        return None
    if words[0] in ("islands", "pages"):
        return scattered(int(words[1]), int(words[2]), HUGE if words[0] == "islands" else mmap.PAGESIZE)
    area = whole(words[0], int(words[1]) * MIB)
    touch(area)
    return area


def main() -> None:
    kept = [step(argument.split(":")) for argument in sys.argv[1:]]
    print("ready", flush=True)
    for command in map(str.strip, sys.stdin):
        if command == "exec":
            os.execvp("sleep", ["sleep", "600"])
        if command == "exit":
            os._exit(0)
    del kept


if __name__ == "__main__":
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG: none outlives its test
    main()
