"""Mapped bytes by rank; what is private, what is shared, and what sampling knows."""

from collections.abc import Mapping
from dataclasses import replace
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.model.ids import Backing
from numa_exporter.model.placement import Placement, Rank
from numa_exporter.model.processes import ClassEstimate, MappedMemory
from numa_exporter.model.thresholds import GIB, MIB
from tests.builders import Task, container, gb200, memory_only, nps4, placed, sample, task, two_socket, walked

BACKINGS: tuple[Backing, ...] = ("anon", "file", "shmem_anon", "shmem", "hugetlb", "driver")


def ranks(*tasks: Task) -> list[Rank]:
    return [rank for workload in placed(sample(two_socket(), *tasks)).workloads for rank in workload.ranks]


def total(placement: Placement) -> int:
    """Every mapped byte of every rank and helper."""
    everyone = [
        rank for work in placement.workloads for rank in (*work.ranks, *([work.helpers] if work.helpers else []))
    ]
    return sum(count for rank in everyone for by_node in (rank.mapped or {}).values() for count in by_node.values())


class TestMapped:
    def test_the_sum_over_its_processes(self) -> None:
        (rank,) = ranks(
            task(1, gpus="GPU-0", mapped={"anon": {0: 3, 1: 1}, "file": {1: 5}}),
            task(2, gpus="GPU-0", mapped={"anon": {1: 2}}),
        )
        assert rank.mapped == {"anon": {0: 3, 1: 3}, "file": {1: 5}}
        assert (rank.method, rank.half_width["memory"], rank.error) == ("walk", 0.0, 0.0)

    def test_unread_is_not_zero(self) -> None:
        (rank,) = ranks(task(1, gpus="GPU-0"))
        assert rank.mapped is None and rank.method is None and rank.misalignment == {"gpu_spread": 0.0}

    def test_a_process_that_was_not_read_yet_is_left_out(self) -> None:
        (rank,) = ranks(task(1, gpus="GPU-0", mapped={"anon": {0: 3, 1: 1}}), task(2, gpus="GPU-0"))
        assert rank.mapped == {"anon": {0: 3, 1: 1}} and rank.misalignment["memory"] == 0.25

    def test_withheld_shares_make_no_ratio(self) -> None:
        withheld = MappedMemory(method="walk", mapped={}, withheld="a walk would cost 900 ms")
        (rank,) = ranks(
            task(1, gpus="GPU-0", mapped={"anon": {0: 3, 1: 1}}), replace(task(2, gpus="GPU-0"), memory=withheld)
        )
        assert rank.withheld == "a walk would cost 900 ms"
        assert rank.mapped == {"anon": {0: 3, 1: 1}}, "what is known is shown"
        assert "memory" not in rank.misalignment and "memory" not in rank.half_width

    def test_the_policy_is_the_leaders(self) -> None:
        old = replace(walked({"anon": {0: 1}}), policy="bind:0", policy_bytes={"bind:0": 1})
        new = replace(walked({"anon": {0: 2}}), policy="default", policy_bytes={"default": 2})
        (rank,) = ranks(
            replace(task(1, gpus="GPU-0", started=9.0), memory=new),
            replace(task(2, gpus="GPU-0", started=8.0), memory=old),
        )
        assert rank.policy == "bind:0" and rank.policy_bytes == {"bind:0": 1, "default": 2}

    def test_policy_bytes_only_where_everything_was_walked(self) -> None:
        walk = replace(walked({"anon": {0: 1}}), policy_bytes={"default": 1})
        (rank,) = ranks(replace(task(1, gpus="GPU-0"), memory=walk), task(2, gpus="GPU-0", mapped={"anon": {0: 1}}))
        assert rank.policy_bytes is None

    @given(
        st.lists(
            st.tuples(
                st.integers(0, 8),
                st.dictionaries(st.sampled_from(BACKINGS), st.dictionaries(st.integers(0, 1), st.integers(0, 1 << 40))),
            ),
            max_size=8,
        )
    )
    def test_bytes_are_conserved(self, held: list[tuple[int, dict[Backing, dict[int, int]]]]) -> None:
        """GPU 8 is none: a helper."""
        first = task(1, gpus="GPU-0", mapped={})
        tasks = [
            task(pid, gpus=f"GPU-{gpu}" if gpu < 8 else None, mapped=own) for pid, (gpu, own) in enumerate(held, 2)
        ]
        given_ = sum(count for _, own in held for by_node in own.values() for count in by_node.values())
        assert total(placed(sample(two_socket(), first, *tasks))) == given_


class TestPrivateAndShared:
    """Named shmem is private where one rank alone maps it."""

    @staticmethod
    def mapping(
        pid: int, gpu: str | None, segments: Mapping[str, Mapping[int, int]], cgroup: str | None = None
    ) -> Task:
        together: dict[int, int] = {}
        for by_node in segments.values():
            for node, count in by_node.items():
                together[node] = together.get(node, 0) + count
        where = {"cgroup": cgroup} if cgroup else {}
        return task(pid, gpus=gpu, mapped={"shmem": together}, segments=segments, **where)  # type: ignore[arg-type]

    def test_alone(self) -> None:
        (rank,) = ranks(self.mapping(1, "GPU-0", {"0:5:77": {0: 30, 1: 10}}))
        assert rank.private_shmem == {0: 30, 1: 10} and rank.shared_shmem == {}
        assert rank.misalignment["memory"] == 0.25 and "shared_memory" not in rank.misalignment

    def test_twice_by_the_same_rank_is_alone(self) -> None:
        segments = {"0:5:77": {0: 30, 1: 10}}
        (rank,) = ranks(self.mapping(1, "GPU-0", segments), self.mapping(2, "GPU-0", segments))
        assert rank.private_shmem == {0: 60, 1: 20}, "shared pages count once per mapper"

    def test_with_a_rank_of_another_socket(self) -> None:
        segments = {"0:5:77": {0: 30, 1: 10}}
        near, far = ranks(self.mapping(1, "GPU-0", segments), self.mapping(2, "GPU-7", segments))
        assert near.misalignment["shared_memory"] == 0.25
        assert far.misalignment["shared_memory"] == 0.75
        assert "memory" not in near.misalignment and near.private_shmem == {}

    def test_with_a_rank_of_another_container(self) -> None:
        segments = {"0:5:77": {1: 10}}
        first, second = ranks(
            self.mapping(1, "GPU-0", segments, container("a")), self.mapping(2, "GPU-7", segments, container("b"))
        )
        assert first.shared_shmem == second.shared_shmem == {1: 10}

    def test_with_a_helper_it_stays_private(self) -> None:
        segments = {"0:5:77": {1: 10}}
        (rank,) = ranks(self.mapping(1, "GPU-0", segments), self.mapping(2, None, segments))
        assert rank.private_shmem == {1: 10}

    def test_a_segment_of_unknown_identity_is_neither(self) -> None:
        (rank,) = ranks(task(1, gpus="GPU-0", mapped={"anon": {0: 1}, "shmem": {1: 10}}))
        assert rank.private_shmem == rank.shared_shmem == {} and rank.misalignment["memory"] == 0.0


class TestHalfWidth:
    @staticmethod
    def sampled(pid: int, *, gpu: str = "GPU-0", **classes: tuple[int, float, float]) -> Task:
        """Each class: resident bytes, share on node 1, effective samples."""
        estimates: dict[Backing, ClassEstimate] = {}
        mapped: dict[Backing, dict[int, int]] = {}
        for name, (size, share, samples) in classes.items():
            backing: Backing = name  # type: ignore[assignment]
            estimates[backing] = ClassEstimate(
                resident_bytes=size, shares={0: 1 - share, 1: share}, effective_samples=samples
            )
            mapped[backing] = {0: round(size * (1 - share)), 1: round(size * share)}
        return replace(task(pid, gpus=gpu), memory=MappedMemory(method="sample", mapped=mapped, estimates=estimates))

    def test_one_class(self) -> None:
        (rank,) = ranks(self.sampled(1, anon=(10 * GIB, 0.25, 396.0)))
        adjusted = (0.25 * 396 + 2) / 400
        expected = 2.05 * sqrt(adjusted * (1 - adjusted) / 400) + (adjusted - 0.25)
        assert rank.method == "sample" and rank.error == pytest.approx(expected)

    def test_classes_weigh_by_their_bytes(self) -> None:
        (rank,) = ranks(self.sampled(1, anon=(30 * GIB, 0.5, 96.0), hugetlb=(10 * GIB, 0.0, 46.0)))
        anon, huge = 0.5, 2 / 50
        variance = 0.75**2 * anon * (1 - anon) / 100 + 0.25**2 * huge * (1 - huge) / 50
        assert rank.error == pytest.approx(2.05 * sqrt(variance) + 0.25 * huge)

    def test_of_host_buffers_it_is_their_own(self) -> None:
        (rank,) = ranks(self.sampled(1, anon=(30 * GIB, 0.5, 10_000.0), shmem_anon=(GIB, 0.5, 20.0)))
        assert rank.half_width["host_buffers"] > 5 * rank.half_width["memory"]

    def test_a_segment_rests_on_its_part_of_the_sample(self) -> None:
        """Half of the named shared memory is another rank's too; the other half has half of the 400 samples."""
        own = self.sampled(1, shmem=(2 * GIB, 0.5, 400.0))
        assert own.memory is not None
        segments = {"0:5:1": {0: GIB // 2, 1: GIB // 2}, "0:5:2": {0: GIB // 2, 1: GIB // 2}}
        own = replace(own, memory=replace(own.memory, segments=segments))
        other = task(2, gpus="GPU-4", mapped={"shmem": {1: GIB}}, segments={"0:5:2": {1: GIB}})
        rank = next(rank for rank in ranks(own, other) if rank.method == "sample")
        assert rank.half_width["memory"] == pytest.approx(2.05 * sqrt(0.25 / 204), rel=0.001)

    def test_a_walked_process_beside_a_sampled_one_has_no_error(self) -> None:
        sampled = self.sampled(1, anon=(GIB, 0.5, 96.0))
        (alone,) = ranks(sampled)
        (beside,) = ranks(sampled, task(2, gpus="GPU-0", mapped={"anon": {0: 7 * GIB}}))
        assert alone.error is not None and beside.error == pytest.approx(alone.error / 8)
        assert beside.method == "sample"

    def test_no_half_width_without_a_sample_size(self) -> None:
        memory = MappedMemory(method="sample", mapped={"anon": {0: GIB, 1: GIB}})
        (rank,) = ranks(replace(task(1, gpus="GPU-0"), memory=memory))
        assert rank.misalignment["memory"] == 0.5 and rank.error is None


class TestShares:
    def test_file_pages_never_enter(self) -> None:
        """P18: what looked like remote memory was shared libraries' text."""
        (rank,) = ranks(task(1, gpus="GPU-0", mapped={"anon": {0: 4 * GIB}, "file": {1: 40 * GIB}}))
        assert rank.misalignment["memory"] == 0.0
        assert (rank.remote["memory"], rank.considered["memory"]) == (0, 4 * GIB)

    def test_memory_is_anon_shmem_anon_hugetlb_and_driver(self) -> None:
        mapped: dict[Backing, dict[int, int]] = {one: {1: GIB} for one in BACKINGS}
        (rank,) = ranks(task(1, gpus="GPU-0", mapped=mapped))
        assert rank.considered["memory"] == 4 * GIB

    def test_host_buffers_are_shmem_anon_and_driver(self) -> None:
        (rank,) = ranks(
            task(
                1,
                gpus="GPU-0",
                mapped={"anon": {0: GIB}, "shmem_anon": {0: 192 * MIB, 1: 32 * MIB}, "driver": {1: 32 * MIB}},
            )
        )
        assert rank.misalignment["host_buffers"] == 0.25

    def test_no_host_buffers_no_ratio(self) -> None:
        (rank,) = ranks(task(1, gpus="GPU-0", mapped={"anon": {0: GIB}}))
        assert "host_buffers" not in rank.misalignment

    def test_socket_pages_count_in_the_denominator_only(self) -> None:
        one = task(1, gpus="GPU-0", mapped={"anon": {0: 1, 1: 2, 4: 1}})
        (rank,) = placed(sample(nps4(), one)).workloads[0].ranks
        assert rank.misalignment["memory"] == 0.25

    def test_device_pages_stay_out_of_both(self) -> None:
        """180 GB of HBM would hide 30 GB on the wrong socket."""
        one = task(1, gpus="GPU-0", mapped={"anon": {2: 180 * GIB, 0: 10 * GIB, 1: 30 * GIB}})
        (rank,) = placed(sample(gb200(), one)).workloads[0].ranks
        assert rank.misalignment["memory"] == 0.75 and rank.considered["memory"] == 40 * GIB

    def test_another_gpus_memory_on_the_other_socket_is_remote(self) -> None:
        one = task(1, gpus="GPU-0", mapped={"anon": {0: 30, 26: 10}})
        (rank,) = placed(sample(gb200(), one)).workloads[0].ranks
        assert rank.misalignment["memory"] == 0.25

    def test_pages_of_unknown_locality_never_raise_a_ratio(self) -> None:
        one = task(1, gpus="GPU-0", mapped={"anon": {0: 1, 1: 1, 3: 2}})
        (rank,) = placed(sample(memory_only(), one)).workloads[0].ranks
        assert rank.misalignment["memory"] == 0.25
