"""A recording: every question that was put to a host, and the answer. Bundle, fixture and simulated host are this.

A question is (door, key): ("file", "/proc/42/stat"), ("list", "/proc/42/task"), ("nvml", '["DeviceGetUUID", 0]').
An answer is bytes for a file, JSON for the other doors, or a Refusal; a refusal is evidence too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

Question = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An answer that is an error: the failure word and what the kernel or the library said."""

    word: str
    detail: str


Answer: TypeAlias = "bytes | Json | Refusal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One look at a host. ``taken_at`` is wall-clock seconds, ``monotonic`` never jumps between frames."""

    taken_at: float
    monotonic: float
    answers: Mapping[Question, Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """At least two frames of one host: CPU time, utilisation and interrupts need two looks.

    ``settings`` are the flags of the run that change a report (thresholds, minimum holding), by flag name.
    """

    nodename: str
    simulated: bool
    exporter: str
    frames: Sequence[Frame]
    settings: Mapping[str, Json]
