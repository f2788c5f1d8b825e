"""What a benchmark is, and what it yields."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

Cell = str | float | int | None


class UnableError(Exception):
    """The benchmark cannot run here; the message says what it needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A limit that was set beforehand, and what was measured against it."""

    what: str
    measured: float
    limit: float
    kind: Literal["at most", "at least"] = "at most"

    @property
    def met(self) -> bool:
        return self.measured <= self.limit if self.kind == "at most" else self.measured >= self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A table, the bars, and what a reader should know of this run, such as what was left out and why."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    bars: tuple[Bar, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """``title`` is a heading, ``method`` a paragraph: what is measured, against what, and how.

    One that takes long yields a Result again and again, each with what it has so far; one that is ``named_only`` is
    left out where all are wanted.
    """

    name: str
    title: str
    method: str
    run: Callable[[], Iterator[Result]]
    named_only: bool = False
