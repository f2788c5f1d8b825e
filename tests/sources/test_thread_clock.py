"""CPU time by node of one process, look by look."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numa_exporter.model.processes import ProcessThreads, ThreadGroup
from numa_exporter.sources.thread_clock import Mask, ProcessClock, Reading

BOTH = Mask(cpus=frozenset({0, 1, 2, 3}), nodes=frozenset({0, 1}))
FIRST = Mask(cpus=frozenset({0, 1}), nodes=frozenset({0}))
ONE_CPU = Mask(cpus=frozenset({1}), nodes=frozenset({0}))
MAIN = 7


def reading(seconds: float, node: int | None = 0, start: int = 100) -> Reading:
    return Reading(start_ticks=start, seconds=seconds, node=node)


def look(
    clock: ProcessClock, at: float, readings: dict[int, Reading], masks: dict[int, Mask] | None = None, total: float = 0
) -> ProcessThreads:
    return clock.look(at, masks or dict.fromkeys(readings, BOTH), readings, total, at)


def group(found: ProcessThreads) -> ThreadGroup:
    (only,) = found.groups
    return only


def test_first_sight_adds_nothing() -> None:
    found = look(ProcessClock(MAIN, 0.01), 0, {7: reading(500)})
    assert (found.cpu_seconds, found.moved_seconds, found.window) == ({}, 0.0, None)
    assert group(found) == ThreadGroup(allowed=BOTH.cpus, threads=1, has_main=True)


def test_a_delta_goes_to_the_node_of_the_last_cpu() -> None:
    clock = ProcessClock(MAIN, 0.01)
    look(clock, 0, {7: reading(500, 1), 8: reading(0, 0)})
    found = look(clock, 10, {7: reading(503, 1), 8: reading(0, 0)})
    assert found.cpu_seconds == {1: 3.0}
    assert (found.window, found.exact, found.threads, found.looked_at) == (10, False, 2, 2)
    assert group(found).window_seconds == {1: 3.0}
    assert (group(found).busy, group(found).ran_on) == (1, {1: 1})


def test_a_moved_thread_is_split_and_counted_as_moved() -> None:
    clock = ProcessClock(MAIN, 0.01)
    look(clock, 0, {7: reading(1, 0)})
    found = look(clock, 10, {7: reading(3, 1)})
    assert found.cpu_seconds == {0: 1.0, 1: 1.0}
    assert found.moved_seconds == 2.0
    assert group(found).ran_on == {1: 1}


def test_a_reused_tid_starts_afresh() -> None:
    clock = ProcessClock(MAIN, 0.01)
    look(clock, 0, {7: reading(1), 8: reading(100, start=1)})
    found = look(clock, 10, {7: reading(1), 8: reading(50, start=2)})
    assert found.cpu_seconds == {}
    assert look(clock, 20, {7: reading(1), 8: reading(51, start=2)}).cpu_seconds == {0: 1.0}


def test_a_thread_that_waited_is_credited_in_full_and_shown_as_a_mean() -> None:
    clock = ProcessClock(MAIN, 0.2)
    masks = {7: BOTH, 8: BOTH}
    look(clock, 0, {7: reading(0), 8: reading(0)}, masks)
    skipped = look(clock, 10, {7: reading(0)}, masks)
    assert (skipped.threads, skipped.looked_at, skipped.cpu_seconds) == (2, 1, {})
    found = look(clock, 20, {8: reading(4)}, masks)
    assert found.cpu_seconds == {0: 4.0}
    assert group(found).window_seconds == {0: 2.0}  # 4 s in two windows
    assert group(found).busy == 1  # 0.2 cores, not 0.4


def test_a_process_bound_to_one_node_is_exact_and_unread() -> None:
    clock = ProcessClock(MAIN, 0.01)
    masks = {7: FIRST, 8: ONE_CPU, 9: ONE_CPU}
    look(clock, 0, {}, masks, total=100)
    found = look(clock, 10, {}, masks, total=105)
    assert (found.exact, found.cpu_seconds, found.moved_seconds) == (True, {0: 5.0}, 0.0)
    assert found.looked_at == found.threads == 3
    by_mask = {found.allowed: found for found in found.groups}
    assert by_mask[FIRST.cpus].window_seconds == {0: 5.0}
    assert (by_mask[FIRST.cpus].busy, by_mask[ONE_CPU.cpus].busy) == (1, 0)
    assert by_mask[ONE_CPU.cpus].ran_on == {0: 2}


def test_exact_and_estimated_time_do_not_overlap() -> None:
    """Bound to one node for a while: what was credited to the process is not credited to its threads again."""
    clock = ProcessClock(MAIN, 0.01)
    look(clock, 0, {7: reading(10)}, {7: BOTH}, total=10)
    assert look(clock, 10, {}, {7: FIRST}, total=14).cpu_seconds == {0: 4.0}
    assert look(clock, 20, {7: reading(16)}, {7: BOTH}, total=16).cpu_seconds == {0: 4.0}
    assert look(clock, 30, {7: reading(17)}, {7: BOTH}, total=17).cpu_seconds == {0: 5.0}


def test_a_total_that_was_not_read_again_adds_nothing() -> None:
    clock = ProcessClock(MAIN, 0.01)
    clock.look(0, {7: FIRST}, {}, 10, 0)
    clock.look(10, {7: FIRST}, {}, 14, 9)
    found = clock.look(20, {7: FIRST}, {}, 14, 9)
    assert found.cpu_seconds == {0: 4.0}
    assert (found.window, group(found).busy) == (10, 0)


def test_cpus_of_no_known_node_are_not_credited_to_node_0() -> None:
    clock = ProcessClock(MAIN, 0.01)
    unknown = Mask(cpus=frozenset({9}), nodes=frozenset({None}))
    look(clock, 0, {7: reading(0, None)}, {7: unknown})
    found = look(clock, 10, {7: reading(5, None)}, {7: unknown})
    assert (found.cpu_seconds, found.exact) == ({}, False)


def test_the_main_thread_may_have_ended() -> None:
    clock = ProcessClock(MAIN, 0.01)
    look(clock, 0, {}, {8: FIRST}, total=1)
    found = look(clock, 10, {}, {8: FIRST}, total=3)
    assert found.cpu_seconds == {0: 2.0}
    assert not group(found).has_main


@settings(deadline=None)
@given(
    st.lists(
        st.dictionaries(st.integers(1, 4), st.tuples(st.floats(0, 10), st.sampled_from([0, 1])), min_size=1),
        min_size=2,
        max_size=6,
    )
)
def test_sums_never_fall_and_are_what_the_threads_used(looks: list[dict[int, tuple[float, int]]]) -> None:
    clock = ProcessClock(1, 0.01)
    used: dict[int, float] = {}
    expected, before, sums = 0.0, set[int](), 0.0
    for at, step in enumerate(looks):
        readings = {}
        for tid, (delta, node) in step.items():
            used[tid] = used.get(tid, 0.0) + delta
            readings[tid] = reading(used[tid], node)
            expected += delta if tid in before else 0.0
        found = look(clock, float(at), readings)
        now = sum(found.cpu_seconds.values())
        assert now >= sums
        assert now == pytest.approx(expected, abs=1e-6)
        assert found.moved_seconds <= now + 1e-6
        # A thread not listed has ended: its TID, seen again, is a new thread's.
        before, sums = set(step), now
