"""The reader of threads: affinity first, stat and schedstat of the rest, in rotation."""

from collections.abc import Mapping, Sequence

import pytest

from numa_exporter.model.ids import ProcessKey
from numa_exporter.model.processes import ProcessThreads
from numa_exporter.sources.host import HostError
from numa_exporter.sources.threads import MASKS, ThreadsReader
from tests.fakehost import DENIED, GONE, Files, fake_host
from tests.sources.proc_tree import processes_of, sample, stat, topology

BOTH = (0, 1, 2, 3)


def thread(pid: int, tid: int, *, cpu: int = 0, run: float = 0.0, ticks: int = 0, start: int = 5000) -> dict[str, str]:
    """A thread's files; CPUs 0 and 1 are node 0, CPUs 2 and 3 node 1."""
    folder = f"/proc/{pid}/task/{tid}"
    return {
        f"{folder}/stat": stat(tid, cpu=cpu, ticks=(ticks, 0), start=start),
        f"{folder}/schedstat": f"{int(run * 1e9)} 0 1\n",
    }


def looks(
    first: Files,
    *later: Files,
    affinity: Mapping[int, Sequence[int]],
    pids: Sequence[int] = (42,),
    totals: Sequence[float] = (0.0,) * 9,
    budget: int | None = None,
) -> list[Mapping[ProcessKey, ProcessThreads]]:
    """What each look found."""
    stats = {f"/proc/{pid}/stat": stat(pid) for pid in pids}
    host = fake_host({**stats, **first}, later=later, seconds=10, affinity=affinity)
    reader = ThreadsReader(0.01, budget)
    found = []
    for total in totals:
        now = host.now("test").monotonic
        outcome = reader.read(host, sample(host, processes=processes_of(pids, cpu_seconds=total, monotonic=now)))
        assert outcome.value is not None
        found.append(outcome.value.by_process)
        if not host.advance():
            break
    return found


KEY = ProcessKey(pid=42, start_ticks=5000)


def test_two_looks_at_threads_that_span_nodes() -> None:
    first = {**thread(42, 42, cpu=0, run=1), **thread(42, 43, cpu=2, run=10)}
    second = {**thread(42, 42, cpu=1, run=3), **thread(42, 43, cpu=0, run=14)}
    _, found = looks(first, second, affinity={42: BOTH, 43: BOTH})
    threads = found[KEY]
    assert threads.cpu_seconds == pytest.approx({0: 2 + 2, 1: 2})
    assert threads.moved_seconds == pytest.approx(4)
    assert (threads.exact, threads.threads, threads.looked_at, threads.window) == (False, 2, 2, 10)
    (group,) = threads.groups
    assert (group.threads, group.busy, group.has_main, group.ran_on) == (2, 2, True, {0: 2})


def test_masks_within_one_node_need_no_stat() -> None:
    """The threads' files refuse: they are not asked."""
    refuse = {f"/proc/42/task/{tid}/{name}": DENIED for tid in (42, 43) for name in ("stat", "schedstat")}
    _, found = looks(refuse, {}, affinity={42: (2, 3), 43: (3,)}, totals=(5.0, 7.0))
    assert found[KEY].exact
    assert found[KEY].cpu_seconds == {1: 2.0}


def test_one_thread_with_a_wider_mask_makes_all_be_read() -> None:
    first = {**thread(42, 42, cpu=0), **thread(42, 43, cpu=0)}
    second = {**thread(42, 42, cpu=0, run=1), **thread(42, 43, cpu=3, run=0)}
    _, found = looks(first, second, affinity={42: (0, 1), 43: BOTH}, totals=(0.0, 1.0))
    assert not found[KEY].exact
    assert found[KEY].cpu_seconds == {0: 1.0}
    assert {group.allowed: group.has_main for group in found[KEY].groups} == {
        frozenset({0, 1}): True,
        frozenset(BOTH): False,
    }


def test_without_schedstat_ticks_do() -> None:
    first: Files = {"/proc/42/task/42/stat": stat(42, ticks=(100, 50)), "/proc/42/task/42/schedstat": GONE}
    second = {"/proc/42/task/42/stat": stat(42, ticks=(200, 60))}
    _, found = looks(first, second, affinity={42: BOTH})
    assert found[KEY].cpu_seconds == {0: 1.1}


def test_a_thread_that_slept_is_not_asked_where_it_is() -> None:
    first = {**thread(42, 42, cpu=0, run=1), **thread(42, 43, cpu=2, run=1)}
    second: Files = {**thread(42, 42, cpu=0, run=2), "/proc/42/task/43/stat": DENIED}
    third = {**thread(42, 42, cpu=0, run=2), **thread(42, 43, cpu=2, run=4)}
    found = looks(first, second, third, affinity={42: BOTH, 43: BOTH})
    assert [look[KEY].looked_at for look in found] == [2, 2, 2]
    assert found[2][KEY].cpu_seconds == {0: 1.0, 1: 3.0}


def test_a_thread_that_ends_in_the_middle_is_left_out() -> None:
    ending: Files = {"/proc/42/task/43/stat": GONE, "/proc/42/task/43/schedstat": GONE}
    (found,) = looks({**thread(42, 42), **ending}, affinity={42: BOTH, 43: BOTH})
    assert (found[KEY].threads, found[KEY].looked_at) == (2, 1)


def test_a_process_that_ended_or_whose_pid_was_given_away_has_no_threads() -> None:
    reused = {"/proc/42/stat": stat(42, start=9000), **thread(42, 42)}
    assert looks(reused, affinity={42: BOTH}) == [{}]
    assert looks({"/proc/42/stat": GONE}, affinity={}) == [{}]


def test_ourselves_are_not_looked_at() -> None:
    host = fake_host({"/proc/42/stat": stat(42), **thread(42, 42)}, affinity={42: BOTH})
    outcome = ThreadsReader(0.01).read(host, sample(host, processes=processes_of([42], own=True)))
    assert outcome.value is not None and outcome.value.by_process == {}


def test_past_the_budget_threads_take_turns_and_lose_nothing() -> None:
    """Four busy threads, two a look: each is read every other look, in the end all time is there."""
    tids = (42, 43, 44, 45)
    at = [{name: text for tid in tids for name, text in thread(42, tid, run=look).items()} for look in range(5)]
    found = looks(at[0], *at[1:], affinity=dict.fromkeys(tids, BOTH), budget=2)
    assert [look[KEY].looked_at for look in found] == [2] * 5
    assert [sum(look[KEY].cpu_seconds.values()) for look in found] == pytest.approx([0, 0, 4, 8, 12])
    shown = [sum(group.window_seconds.values()) for group in found[2][KEY].groups]
    assert shown == pytest.approx([2])  # two threads of one core second a window each


def test_new_processes_first_and_small_ones_do_not_starve() -> None:
    """A process of four threads would take every look's budget."""
    large = {name: text for tid in (42, 43, 44, 45) for name, text in thread(42, tid).items()}
    files = {**large, **thread(50, 50)}
    affinity = dict.fromkeys((42, 43, 44, 45, 50), BOTH)
    found = looks(files, files, files, affinity=affinity, pids=(42, 50), budget=3)
    small, big = ProcessKey(pid=50, start_ticks=5000), KEY
    assert [(look[small].looked_at, look[big].looked_at) for look in found] == [(1, 2), (1, 2), (1, 2)]


def test_garbled_and_denied_are_told() -> None:
    garbled = {"/proc/42/stat": stat(42), "/proc/42/task/42/stat": "nonsense"}
    host = fake_host(garbled, affinity={42: BOTH})
    outcome = ThreadsReader(0.01).read(host, sample(host, processes=processes_of([42])))
    assert outcome.failure is not None and outcome.failure.word == "garbled"
    assert outcome.value is not None and outcome.value.by_process[KEY].looked_at == 0

    denied = fake_host({"/proc/42/stat": stat(42), "/proc/42/task/42/stat": DENIED}, affinity={42: BOTH})
    failure = ThreadsReader(0.01).read(denied, sample(denied, processes=processes_of([42]))).failure
    assert failure is not None and failure.word == "denied"


def test_without_topology_or_processes_it_waits() -> None:
    host = fake_host({})
    for parts in ({"topology": None, "processes": processes_of([])}, {"topology": topology()}):
        with pytest.raises(HostError) as caught:
            ThreadsReader(0.01).read(host, sample(host, **parts))
        assert caught.value.word == "absent"


def test_a_new_topology_gives_masks_their_new_nodes() -> None:
    """CPUs come online: a mask that lay in no node lies in one."""
    host = fake_host({"/proc/42/stat": stat(42), **thread(42, 42)}, affinity={42: (0, 1)})
    reader = ThreadsReader(0.01)
    seen = []
    for nodes in (topology(nodes=2, cpus=1), topology(nodes=1, cpus=2)):
        outcome = reader.read(host, sample(host, topology=nodes, processes=processes_of([42])))
        assert outcome.value is not None
        seen.append(outcome.value.by_process[KEY].exact)
    assert seen == [False, True]


def test_masks_without_end_are_not_remembered_without_end() -> None:
    """Any process may give its threads new masks all the time."""
    tids = range(42, 42 + MASKS + 10)
    files = {"/proc/42/stat": stat(42)}
    for tid in tids:
        files |= thread(42, tid)
    # every mask another one: the bits of a number, above CPU 0
    masks = {tid: (0, *(bit + 1 for bit in range(12) if tid >> bit & 1)) for tid in tids}
    host = fake_host(files, affinity=masks)
    reader = ThreadsReader(0.01)
    outcome = reader.read(host, sample(host, processes=processes_of([42])))
    assert outcome.value is not None
    assert len(outcome.value.by_process[KEY].groups) == len(tids)
    assert len(reader._nodes._masks) <= MASKS
