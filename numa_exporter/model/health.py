"""How a source fared: the five words of failure and the reading's age."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

FailureWord = Literal["absent", "denied", "gone", "stuck", "garbled"]
"""No such file or library; no permission; vanished mid-read; past its deadline; not what its grammar promises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failed reading: the word, the logical path (or NVML call), and what the kernel or parser said."""

    word: FailureWord
    path: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceHealth:
    """One source at one moment. Stamps are wall-clock seconds, durations seconds.

    ``up`` is None where the source is switched off or absent: then no gauge is exposed.
    ``failures`` counts every failed reading since the start, by word, single processes included.
    """

    name: str
    up: bool | None
    failure: Failure | None = None
    read_at: float | None = None
    duration: float | None = None
    interval: float
    failures: Mapping[FailureWord, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessCost:
    """The agent's own cost, from its own /proc entry. Seconds and bytes; ``start_time`` is wall-clock seconds."""

    cpu_seconds: float
    resident_bytes: int
    virtual_bytes: int
    open_fds: int | None
    threads: int
    start_time: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStats:
    """How the loop runs. ``lock_hold_seconds`` is the wall time of calls that can hold a workload's mmap lock, an
    upper bound; ``series_dropped`` counts series past ``--max-series`` by metric."""

    ticks: int = 0
    ticks_skipped: int = 0
    last_tick: float | None = None
    lock_hold_seconds: float | None = None
    series_dropped: Mapping[str, int] = field(default_factory=dict)
    cost: ProcessCost | None = None
