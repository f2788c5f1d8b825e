"""The interpreter of a process that runs for months: threads, memory, descriptors."""

import ctypes
import gc
import logging
import resource
import sys

log = logging.getLogger("numa_exporter")

SWITCH_SECONDS = 0.0005
"""Instead of five milliseconds: a scrape need not wait for a long parse in another thread."""
YOUNG_OBJECTS = 10_000
"""After which the garbage collector looks for cycles, instead of 700: a tick makes many objects, and no cycles."""
_M_MMAP_THRESHOLD = -3
"""malloc.h"""
LARGE_BLOCK = 128 * 1024
"""Bytes from which malloc maps a block by itself and gives it back whole."""
OPEN_FILES = 65_536
"""A hard limit may be a thousand million, and there are libraries that close every descriptor before they exec."""


def settle() -> None:
    """Set the interpreter up for a process that runs for months."""
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()  # modules are never garbage: a full collection need not look at them
    gc.set_threshold(YOUNG_OBJECTS)
    _keep_large_blocks_apart()
    _raise_descriptors()


def _keep_large_blocks_apart() -> None:
    """glibc raises LARGE_BLOCK to 32 MiB once such a block was freed: the maps of a large process, read into the heap
    twice a minute, would leave holes there that stay resident (mallopt(3), M_MMAP_THRESHOLD). musl has no such option.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK)


def _raise_descriptors() -> None:
    """A thousand idle connections take the usual soft limit whole: no file of the host could be opened any more. That
    limit is for programs that select(); Go raises it for every exporter (syscall/rlimit.go)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= min(OPEN_FILES, hard):
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(OPEN_FILES, hard), hard))
    except (OSError, ValueError) as error:  # a filter of system calls
        log.info("the limit of open files stays", extra={"detail": str(error)})
