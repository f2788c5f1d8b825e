"""Kernel counters between two readings: what they added, and totals that never fall."""

from collections.abc import Mapping
from typing import TypeVar

from numa_exporter.model.placement import Tally

Key = TypeVar("Key")


def advance(before: Tally[Key] | None, raw: Mapping[Key, float], read_at: float) -> Tally[Key]:
    """The tally after a reading. The same reading again changes nothing.

    Where a counter fell (32-bit interrupt counts wrap, a CPU that goes offline leaves its node's sum) the interval
    adds nothing: less than a wrong jump. A counter that is missing now keeps its total.
    """
    if before is None:
        return Tally(read_at=read_at, raw=raw, total=dict(raw))
    if before.read_at == read_at:
        return before
    step = {key: max(0.0, value - before.raw[key]) for key, value in raw.items() if key in before.raw}
    total = dict(before.total)
    for key, value in raw.items():
        total[key] = total[key] + step.get(key, 0.0) if key in total else value
    return Tally(read_at=read_at, raw=raw, total=total, step=step, seconds=read_at - before.read_at)
