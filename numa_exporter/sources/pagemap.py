"""PAGEMAP_SCAN: which pages of an address space are present, asked of /proc/PID/pagemap.

Documentation/admin-guide/mm/pagemap.rst; include/uapi/linux/fs.h:struct pm_scan_arg;
fs/proc/task_mmu.c:do_pagemap_scan.
Since 6.7. Presence only, no frame numbers and no nodes. The file is 0400: of other users' processes it needs
CAP_DAC_READ_SEARCH besides the right to ptrace-read.
"""

import ctypes
import errno
import fcntl
import mmap
import os
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numa_exporter.sources.host import HostError, PresentEdges, word_of

# _IOWR('f', 16, struct pm_scan_arg); powerpc encodes directions otherwise and arrives at the same number.
_PAGEMAP_SCAN = 0xC0606610
# size flags start end walk_end vec vec_len max_pages category_inverted category_mask category_anyof_mask return_mask
_ARGUMENT = struct.Struct("12Q")
_SPAN, _SPAN_AT = struct.Struct("2Q"), 16
_WALK_END, _WALK_END_AT = struct.Struct("Q"), 32
_MAX_PAGES, _MAX_PAGES_AT = struct.Struct("Q"), 56
_PRESENT, _PFNZERO = 1 << 3, 1 << 5
"""PAGE_IS_FILE is never asked for: it would touch the struct page of every page."""
_REGIONS = 1024
BURST, PAUSE = 32, 100e-6
"""Calls in a row, then seconds of rest in which the target's own mmap calls get their turn."""


@contextmanager
def opened(file: str, path: str, held: Callable[[float, float], None]) -> Iterator["Pagemap"]:
    """The pagemap at ``file``, logically ``path``; HostError ``absent`` where the kernel cannot scan it. At the end
    ``held`` is told the wall seconds of all its calls and of the longest."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise HostError(word_of(error, path), path, error.strerror or str(error)) from error
    pagemap = Pagemap(descriptor, path)
    try:
        pagemap.present(0, mmap.PAGESIZE)
        yield pagemap
    finally:
        os.close(descriptor)
        held(pagemap.held, pagemap.longest)


class Pagemap:
    """An open pagemap, of the program that the process ran when it was opened: open it anew for each look, for an exec
    leaves it with the old address space. ``held`` is the wall time of all its calls, ``longest`` of the longest."""

    def __init__(self, descriptor: int, path: str) -> None:
        self._descriptor = descriptor
        self._path = path
        self.held = self.longest = 0.0
        self._calls = 0
        self._regions = (ctypes.c_uint64 * (3 * _REGIONS))()
        regions = ctypes.addressof(self._regions)
        wanted = _PFNZERO, _PRESENT | _PFNZERO, 0, _PRESENT  # present, and not the zero page
        self._argument = bytearray(_ARGUMENT.pack(_ARGUMENT.size, 0, 0, 0, 0, regions, _REGIONS, 0, *wanted))

    def present(self, start: int, end: int, max_pages: int = 0) -> PresentEdges:
        """See ``host.PageTables``. Raises HostError."""
        edges: list[int] = []
        slowest = 0.0
        argument = self._argument
        while start < end:
            _SPAN.pack_into(argument, _SPAN_AT, start, end)
            _MAX_PAGES.pack_into(argument, _MAX_PAGES_AT, max_pages)
            count, seconds = self._call(argument)
            slowest = max(slowest, seconds)
            regions: list[int] = self._regions[: 3 * count]
            del regions[2::3]  # the categories
            edges += regions
            if max_pages and count:
                break
            start = _WALK_END.unpack_from(argument, _WALK_END_AT)[0]
        return edges, slowest

    def _call(self, argument: bytearray) -> tuple[int, float]:
        self._calls += 1
        if self._calls % BURST == 0:
            time.sleep(PAUSE)
        began, cpu = time.monotonic(), time.thread_time()
        try:
            count = fcntl.ioctl(self._descriptor, _PAGEMAP_SCAN, argument, True)
        except OSError as error:
            if error.errno == errno.ENOTTY:
                raise HostError("absent", self._path, "this kernel has no PAGEMAP_SCAN (before 6.7)") from error
            raise HostError(word_of(error, self._path), self._path, os.strerror(error.errno or 0)) from error
        seconds = time.thread_time() - cpu
        held = time.monotonic() - began
        self.held += held
        self.longest = max(self.longest, held)
        return count, seconds
