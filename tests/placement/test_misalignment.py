"""Contract §2, dimension: what enters each ratio, and where none is exposed."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from numa_exporter.model.ids import JUDGED
from numa_exporter.model.placement import Rank
from numa_exporter.model.processes import Cgroup
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import GIB
from tests.builders import (
    ONE_GPU,
    VLLM,
    Parts,
    Task,
    gb200,
    gpu,
    memory_only,
    nps4,
    placed,
    sample,
    single_node,
    task,
    two_socket,
)


def rank(*samples: Sample) -> Rank:
    return placed(*samples).workloads[0].ranks[0]


def gpus(*numbers: int) -> dict[str, int | None]:
    return {f"GPU-{number}": ONE_GPU for number in numbers}


def busy(held: Mapping[str, int | None], on: int) -> Task:
    """Pages and CPU time all on one node."""
    return task(1, gpus=held, mapped={"anon": {on: GIB}, "driver": {on: GIB}}, cpu={on: 10.0}, allowed="0-63")


class TestWhereNothingCanBeTold:
    def test_a_home_on_every_socket_of_several(self) -> None:
        found = rank(sample(two_socket(), busy(gpus(0, 7), on=0)))
        assert found.misalignment == {"gpu_spread": 0.5}
        assert found.unjudged == "home covers every socket"

    def test_eight_of_eight_gpus(self) -> None:
        """P35: four and four GPUs are no imbalance."""
        found = rank(sample(two_socket(), busy(gpus(*range(8)), on=0)))
        assert found.misalignment == {"gpu_spread": 0.0}

    def test_an_unknown_affinity(self) -> None:
        found = rank(sample(two_socket(0).with_gpus(gpu(0, None)), busy(gpus(0), on=0)))
        assert found.misalignment == {} and found.unjudged == "the affinity of a GPU is unknown"
        assert found.mapped == {"anon": {0: GIB}, "driver": {0: GIB}}, "the pages are known all the same"

    def test_one_node_that_spans_packages(self) -> None:
        parts = single_node().change_topology(packages={cpu: cpu // 4 for cpu in range(8)})
        found = rank(sample(parts, busy(gpus(0), on=0)))
        assert found.misalignment == {} and found.unjudged == "sockets are unknown"

    def test_on_unknown_sockets_there_is_a_ratio_and_no_verdict(self) -> None:
        found = rank(sample(two_socket().change_topology(packages={}), busy(gpus(0), on=1)))
        assert {found.misalignment[dimension] for dimension in ("memory", "host_buffers")} == {1.0}
        assert found.unjudged == "sockets are unknown"
        assert "gpu_spread" not in found.misalignment


class TestOnOneSocket:
    @pytest.mark.parametrize(
        "parts", [single_node(), single_node().change_topology(packages={cpu: cpu for cpu in range(8)})]
    )
    def test_it_is_0(self, parts: Parts) -> None:
        looks = [
            sample(parts, replace(busy(gpus(0), on=0))),
            sample(parts, task(1, gpus=gpus(0), cpu={0: 30.0}), at=15),
        ]
        assert rank(looks[0]).misalignment["memory"] == 0.0
        assert rank(*looks).misalignment["cpu_time"] == 0.0
        assert rank(*looks).unjudged is None

    def test_of_several_nodes_too(self) -> None:
        parts = nps4().change_topology(packages=dict.fromkeys(range(64), 0))
        found = rank(sample(parts, busy(gpus(0), on=5)))
        assert found.misalignment["memory"] == 0.0 and not found.indistinct


class TestMasks:
    @staticmethod
    def mems(parts: Parts, *nodes: int) -> float | None:
        facts = Cgroup(path=VLLM, version=2, mems=frozenset(nodes))
        return rank(sample(parts, task(1, gpus="GPU-0"), cgroups=[facts])).misalignment.get("memory_mask")

    def test_memory_mask_is_half_on_every_unpinned_container(self) -> None:
        assert self.mems(two_socket(), 0, 1) == 0.5
        assert self.mems(nps4(), *range(8)) == 0.5

    def test_memory_mask_of_a_bound_one(self) -> None:
        assert self.mems(two_socket(), 0) == 0.0
        assert self.mems(two_socket(), 1) == 1.0

    def test_gpu_memory_is_nobodys_choice(self) -> None:
        assert self.mems(gb200(), *range(34)) == 0.5

    def test_memory_of_unknown_locality_counts_in_the_denominator_only(self) -> None:
        assert self.mems(memory_only(), 0, 1, 2, 3) == 0.25

    def test_unread_masks_are_unknown(self) -> None:
        assert {"memory_mask", "cpu_mask"}.isdisjoint(rank(sample(two_socket(), task(1, gpus="GPU-0"))).misalignment)


class TestInterrupts:
    @staticmethod
    def at(look: int, counts: Mapping[int, int], *, twice: bool = False) -> Sample:
        """mlx5_0 beside GPU-0 fired; mlx5_4 beside GPU-4 fired much more."""
        parts = two_socket()
        near, far = parts.devices.devices[0], parts.devices.devices[4]
        own = {cpu: count * look for cpu, count in counts.items()}
        devices = [replace(near, interrupts=own), replace(far, interrupts={0: 10**6 * look})]
        if twice:
            devices.append(replace(near, name="eth0", device_class="nic", interrupts=own))
        parts = replace(parts, devices=replace(parts.devices, devices=tuple(devices)))
        return sample(parts, task(1, gpus="GPU-0"), at=15.0 * look)

    def test_those_of_the_near_nic_in_the_last_interval(self) -> None:
        found = rank(self.at(1, {0: 30, 16: 10}), self.at(2, {0: 30, 16: 10}))
        assert found.interrupts == (10, 40) and found.interrupts_window == 15.0
        assert found.misalignment["irq"] == 0.25

    def test_one_function_under_two_names_counts_once(self) -> None:
        found = rank(self.at(1, {0: 30, 16: 10}, twice=True), self.at(2, {0: 30, 16: 10}, twice=True))
        assert found.interrupts == (10, 40)

    def test_unknown_before_the_second_reading(self) -> None:
        assert rank(self.at(1, {0: 30})).interrupts is None

    def test_silence_is_no_ratio(self) -> None:
        found = rank(self.at(1, {0: 0}), self.at(2, {0: 0}))
        assert found.interrupts == (0, 0) and "irq" not in found.misalignment

    def test_no_nic_is_near_a_c2c_gpu(self) -> None:
        looks = [sample(gb200(), task(1, gpus="GPU-0"), at=15.0 * look) for look in range(2)]
        assert rank(*looks).interrupts is None


class TestGpuSpread:
    @pytest.mark.parametrize(
        ("numbers", "expected"),
        [
            ((0,), 0.0),
            ((0, 1, 2, 3), 0.0),
            ((0, 1, 4, 5), 0.5),
            ((0, 1, 2, 4), 0.25),
            ((0, 1, 2, 3, 4, 5), 0.0),
            (tuple(range(8)), 0.0),
        ],
    )
    def test_one_minus_the_best_sockets_part_of_what_one_socket_could_hold(
        self, numbers: tuple[int, ...], expected: float
    ) -> None:
        found = rank(sample(two_socket(), task(1, gpus=gpus(*numbers))))
        assert found.misalignment["gpu_spread"] == expected

    def test_unknown_where_a_socket_is(self) -> None:
        parts = two_socket(0).with_gpus(gpu(0, 0), gpu(1, None))
        assert "gpu_spread" not in rank(sample(parts, task(1, gpus=gpus(0, 1)))).misalignment


def test_p01_one_of_four_ranks_inside_one_container_is_on_the_wrong_node() -> None:
    """The container's cpuset shows nothing: the fault is one process's."""
    pages = {0: {0: 20 * GIB}, 1: {0: GIB, 1: 19 * GIB}, 4: {1: 20 * GIB}, 5: {1: 20 * GIB}}
    tasks = [task(number + 1, gpus=f"GPU-{number}", mapped={"anon": on}) for number, on in pages.items()]
    placement = placed(sample(two_socket(), *tasks))
    found = {each.key.uuid: each.misalignment["memory"] for each in placement.workloads[0].ranks}
    assert found == {"GPU-0": 0.0, "GPU-1": 0.95, "GPU-4": 0.0, "GPU-5": 0.0}


def test_every_ratio_is_of_what_it_says() -> None:
    first = sample(two_socket(), busy(gpus(0), on=1))
    later = task(
        1, gpus=gpus(0), mapped={"anon": {0: 3 * GIB, 1: GIB}, "driver": {1: GIB}}, cpu={1: 20.0}, allowed="0-63"
    )
    found = rank(first, sample(two_socket(), later, at=15))
    for dimension in JUDGED:
        assert found.misalignment[dimension] == found.remote[dimension] / found.considered[dimension]
        assert found.half_width[dimension] == 0.0
