"""CPU time by rank, home and locality; allowed CPUs, threads, escaped threads."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from numa_exporter.model.ids import Locality
from numa_exporter.model.placement import Rank
from numa_exporter.model.processes import Cgroup
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import Settings, Thresholds
from tests.builders import (
    VLLM,
    Parts,
    Task,
    gb200,
    nps4,
    placed,
    sample,
    single_node,
    task,
    thread_group,
    threads,
    two_socket,
)


def rank(*samples: Sample, settings: Settings | None = None) -> Rank:
    return placed(*samples, settings=settings).workloads[0].ranks[0]


def used(seconds: Mapping[int, float], moved: float = 0.0, gpus: str = "GPU-0", pid: int = 1) -> Task:
    return task(pid, gpus=gpus, cpu=seconds, moved=moved)


def spent(rank: Rank) -> dict[tuple[int, Locality | None], float]:
    """Without the zeros that counters begin with."""
    return {key: seconds for key, seconds in rank.cpu.seconds.items() if seconds}


class TestAccounts:
    def test_counters_of_nodes_with_cpus_begin_at_zero(self) -> None:
        assert rank(sample(two_socket(), used({0: 9.0}))).cpu.seconds == {(0, "local"): 9.0, (1, "remote"): 0.0}
        assert set(rank(sample(gb200(), used({0: 1.0}))).cpu.seconds) == {(0, "local"), (1, "remote")}

    def test_seconds_by_node_and_locality(self) -> None:
        found = rank(sample(two_socket(), used({0: 9.0, 1: 1.0})))
        assert spent(found) == {(0, "local"): 9.0, (1, "remote"): 1.0}
        assert found.cpu_known

    def test_every_second_is_credited_once(self) -> None:
        looks = [sample(two_socket(), used({0: 4.0 * look}, moved=look), at=15.0 * look) for look in range(4)]
        found = rank(*looks)
        assert spent(found) == {(0, "local"): 12.0} and found.cpu.moved_seconds == 3.0

    def test_no_counter_falls_when_a_process_ends(self) -> None:
        both = sample(two_socket(), used({0: 5.0}), used({0: 7.0}, pid=2))
        found = rank(both, sample(two_socket(), used({0: 6.0}), at=15))
        assert spent(found) == {(0, "local"): 13.0}

    def test_a_restarted_engine_goes_on_where_it_stopped(self) -> None:
        found = rank(
            sample(two_socket(), used({0: 5.0})),
            sample(two_socket(), at=15),
            sample(two_socket(), used({0: 2.0}, pid=99), at=30),
        )
        assert spent(found) == {(0, "local"): 7.0}

    def test_an_hour_later_it_begins_anew(self) -> None:
        gone = placed(sample(two_socket(), used({0: 5.0})), sample(two_socket(), at=3615))
        assert gone.ledger.accounts == {} and gone.ledger.marks == {}

    def test_a_process_that_becomes_a_rank_takes_nothing_along(self) -> None:
        loading = task(1, cpu={0: 100.0})
        other = used({0: 1.0}, gpus="GPU-7", pid=2)
        found = placed(sample(two_socket(), loading, other), sample(two_socket(), used({0: 103.0}), other, at=15))
        (first, _) = found.workloads[0].ranks
        assert spent(first) == {(0, "local"): 3.0}

    def test_a_change_of_home_starts_new_series(self) -> None:
        moved = two_socket().change_gpus(function=two_socket().gpus.gpus[7].function)
        found = rank(sample(two_socket(), used({0: 5.0})), sample(moved, used({0: 8.0}), at=15))
        assert spent(found) == {(0, "local"): 5.0, (0, "remote"): 3.0}
        assert found.cpu_window_seconds == 0.0, "the window starts anew"

    def test_without_a_home_seconds_have_no_locality(self) -> None:
        found = rank(sample(two_socket(1).change_gpus(function=None), used({0: 5.0})))
        assert spent(found) == {(0, None): 5.0} and "cpu_time" not in found.misalignment

    def test_unread_threads_are_not_zero(self) -> None:
        found = rank(sample(two_socket(), task(1, gpus="GPU-0")))
        assert not found.cpu_known and found.allowed_cpus is None and found.threads is None

    def test_a_failed_threads_source_loses_nothing(self) -> None:
        first, blind = sample(two_socket(), used({0: 5.0})), sample(two_socket(), used({0: 6.0}), at=15)
        found = rank(first, replace(blind, threads=None), sample(two_socket(), used({0: 9.0}), at=30))
        assert spent(found) == {(0, "local"): 9.0}


class TestWindow:
    def looks(self, count: int) -> list[Sample]:
        """A rank that was remote for its first ten looks and is local since."""
        return [
            sample(two_socket(), used({1: 10.0 * min(look, 10), 0: 10.0 * max(0, look - 10)}), at=15.0 * look)
            for look in range(count)
        ]

    def test_it_covers_the_seconds_of_the_verdict(self) -> None:
        found = rank(*self.looks(25))
        assert found.cpu_window_seconds == 300.0
        assert found.cpu_window.seconds == {(1, "remote"): 60.0, (0, "local"): 140.0}
        assert found.misalignment["cpu_time"] == pytest.approx(0.3)

    def test_it_is_shorter_at_the_start(self) -> None:
        assert rank(*self.looks(3)).cpu_window_seconds == 30.0

    def test_its_length_is_a_threshold(self) -> None:
        short = Settings(thresholds=Thresholds(cpu_time_window_seconds=45.0))
        assert rank(*self.looks(25), settings=short).cpu_window_seconds == 45.0

    def test_half_of_what_moved_is_the_half_width(self) -> None:
        found = rank(sample(two_socket(), used({})), sample(two_socket(), used({0: 8.0, 1: 2.0}, moved=3.0), at=15))
        assert found.half_width["cpu_time"] == pytest.approx(3.0 / (2 * 10.0))


class TestExact:
    """On v1 cpuacct.usage_percpu may replace the estimate where a container is one rank and nothing else."""

    def looks(self, *beside: Task) -> list[Sample]:
        def at(look: int) -> Sample:
            facts = Cgroup(path=VLLM, version=1, cpu_seconds={0: 10.0 + 6.0 * look, 16: 5.0 + 2.0 * look})
            return sample(
                two_socket(), used({0: 1.0 * look}, moved=0.5 * look), *beside, at=15.0 * look, cgroups=[facts]
            )

        return [at(look) for look in range(3)]

    def test_it_replaces_the_estimate(self) -> None:
        found = rank(*self.looks())
        assert spent(found) == {(0, "local"): 12.0, (1, "remote"): 4.0}
        assert found.cpu.moved_seconds == 0.0

    def test_not_beside_a_helper(self) -> None:
        assert spent(rank(*self.looks(task(2)))) == {(0, "local"): 2.0}

    def test_not_beside_an_observer(self) -> None:
        assert spent(rank(*self.looks(task(2, gpus="GPU-0", comm="nvtop")))) == {(0, "local"): 2.0}


class TestAllowedAndRan:
    def test_allowed_cpus_are_the_union_of_the_masks_that_is_online(self) -> None:
        side = threads(thread_group("0-7"), thread_group("6-9,16,200", main=False))
        found = rank(sample(two_socket(), replace(task(1, gpus="GPU-0"), threads=side)))
        assert found.allowed_cpus == {"local": 10, "remote": 1}
        assert found.misalignment["cpu_mask"] == pytest.approx(1 / 11)

    def test_half_of_them_are_remote_on_every_unpinned_container(self) -> None:
        found = rank(sample(two_socket(), task(1, gpus="GPU-0", allowed="0-63")))
        assert found.misalignment["cpu_mask"] == 0.5

    def test_another_node_of_the_socket_counts_in_the_denominator_only(self) -> None:
        found = rank(sample(nps4(), task(1, gpus="GPU-0", allowed="0-63")))
        assert found.allowed_cpus == {"local": 8, "socket": 24, "remote": 32}
        assert found.misalignment["cpu_mask"] == 0.5

    def test_threads_by_the_cpu_they_last_ran_on(self) -> None:
        group = replace(thread_group("0-63", {0: 1.0}), ran_on={0: 20, 1: 3})
        found = rank(sample(two_socket(), replace(task(1, gpus="GPU-0"), threads=threads(group))))
        assert found.threads == {"local": 20, "remote": 3}


class TestEscaped:
    """P06: a binding that reached the main thread alone."""

    @staticmethod
    def of(parts: Parts, *groups: object, window: float = 10.0) -> tuple[int | None, float | None]:
        side = threads(*groups, window=window)  # type: ignore[arg-type]
        found = rank(sample(parts, replace(task(1, gpus="GPU-0"), threads=side)))
        return found.escaped_threads, found.escaped_cores

    def test_busy_threads_that_may_leave_beside_a_bound_main_thread(self) -> None:
        escaped = self.of(
            two_socket(),
            thread_group("0-15", {0: 0.1}),
            thread_group("0-63", {0: 2.0, 1: 1.0}, main=False, count=40, busy=5),
        )
        assert escaped == (5, pytest.approx(0.3))

    def test_none_where_nothing_is_bound(self) -> None:
        assert self.of(two_socket(), thread_group("0-63", {0: 1.0, 1: 1.0}, count=9)) == (0, 0.0)

    def test_bound_threads_beside_an_unbound_main_thread_are_ncclls_design(self) -> None:
        bound = thread_group("0-15", {0: 1.0}, main=False, count=8)
        assert self.of(two_socket(), thread_group("0-63", {0: 5.0}), bound) == (0, 0.0)

    def test_bound_by_more_than_half_of_the_cpu_time(self) -> None:
        bound = thread_group("0-15", {0: 6.0}, main=False, count=8)
        assert self.of(two_socket(), thread_group("0-63", {1: 5.0}), bound) == (1, pytest.approx(0.5))

    def test_idle_threads_do_not_count(self) -> None:
        idle = thread_group("0-63", {1: 0.01}, main=False, count=40, busy=0)
        assert self.of(two_socket(), thread_group("0-15", {0: 1.0}), idle) == (0, 0.0)

    def test_the_home_socket_is_no_escape(self) -> None:
        groups = thread_group("0-7", {0: 1.0}), thread_group("0-31", {1: 1.0}, main=False)
        assert self.of(nps4(), *groups) == (0, 0.0)

    def test_nowhere_to_go_on_one_socket(self) -> None:
        assert self.of(single_node(), thread_group("0-3", {0: 1.0}), thread_group("0-7", {0: 1.0}, main=False)) == (
            0,
            0.0,
        )

    def test_unknown_before_the_first_window(self) -> None:
        assert self.of(two_socket(), thread_group("0-15"), window=0.0) == (None, None)
