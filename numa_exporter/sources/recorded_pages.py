"""Questions about pages in a recording: their keys, and page tables that record or answer from one."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import cast

from numa_exporter.model.recording import Answer, Question, Refusal
from numa_exporter.sources.host import HostError, PageTables, PresentEdges


def nodes_key(pid: int, addresses: Sequence[int]) -> str:
    """Differences in units of 4 KiB: whole addresses would be most of a bundle."""
    units = [address >> 12 for address in addresses]
    return f"/proc/{pid}/move_pages " + " ".join(f"{after - before:x}" for before, after in pairwise([0, *units]))


def tables_path(pid: int) -> str:
    return f"/proc/{pid}/pagemap"


def _scan_key(pid: int, number: int, start: int, end: int, max_pages: int) -> str:
    """Numbered: a look may ask the same twice, and get two answers."""
    return f"{tables_path(pid)} {number} {start:x}-{end:x} {max_pages}"


class ReplayedTables:
    """Page tables as a recording has them; ``answer`` looks a question up, or raises HostError."""

    def __init__(self, pid: int, answer: Callable[[str, str], Answer]) -> None:
        self._pid, self._answer = pid, answer
        self._scans = 0

    def present(self, start: int, end: int, max_pages: int = 0) -> PresentEdges:
        self._scans += 1
        key = _scan_key(self._pid, self._scans, start, end, max_pages)
        seconds, *edges = cast(Sequence[float], self._answer("pagemap", key))
        return list(map(int, edges)), seconds


class RecordedTables:
    """Page tables whose answers go into a recording's frame."""

    def __init__(self, pid: int, tables: PageTables, answers: dict[Question, Answer]) -> None:
        self._pid, self._tables, self._answers = pid, tables, answers
        self._scans = 0

    def present(self, start: int, end: int, max_pages: int = 0) -> PresentEdges:
        self._scans += 1
        key = _scan_key(self._pid, self._scans, start, end, max_pages)
        try:
            found = self._tables.present(start, end, max_pages)
        except HostError as error:
            self._answers["pagemap", key] = Refusal(word=error.word, detail=error.detail)
            raise
        self._answers["pagemap", key] = [found[1], *found[0]]
        return found
