"""What the sampler asks of an address space: a live process, a recorded one, or a synthetic one with known truth."""

from collections.abc import Sequence
from typing import Protocol

Interval = tuple[int, int]
"""[first, end) in page numbers."""


Present = tuple[Sequence[Interval], float]
"""Present pages of a span, ascending and disjoint, and the thread CPU seconds that one call took at most."""


class Space(Protocol):
    """The questions; each may raise HostError."""

    @property
    def scans(self) -> bool:
        """Whether ``present`` can be asked: kernels since 6.7, with the right to open pagemap."""
        ...

    def nodes(self, pages: Sequence[int]) -> Sequence[int]:
        """Node of each page, or a negative errno where none is resident."""
        ...

    def present(self, first: int, end: int, limit: int = 0) -> Present:
        """Present pages in [first, end), the zero page left out; the first ``limit`` ones (0 = all)."""
        ...
