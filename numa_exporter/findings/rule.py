"""A row of FINDINGS: how one kind of finding is found, and how long it must last before it is said."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from numa_exporter.findings.scene import Scene
from numa_exporter.model.report import Finding, Level
from numa_exporter.model.thresholds import Thresholds


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """``docs`` is one line for docs/findings.md. ``find`` yields the findings of one evaluation, each with a subject
    of its own; ``since`` is filled in where it left that open.

    ``looks``: the limit of consecutive evaluations counts, for what is measured anew each time. ``seconds``: how long
    it must have held. Neither for what rests on a verdict, which has lasted already, and for what just is so.
    """

    code: str
    levels: tuple[Level, ...]
    docs: str
    find: Callable[[Scene], Iterable[Finding]]
    looks: bool = False
    seconds: Callable[[Thresholds], float] | None = None
