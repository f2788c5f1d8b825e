"""Contract §1, holding: which GPUs are main, which stray, and what is no holding at all."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from numa_exporter.model.placement import Machine, Placement
from numa_exporter.model.processes import Evidence, GpuEvidence
from numa_exporter.model.thresholds import GIB, MIB, Settings
from numa_exporter.placement.holdings import Holdings, holdings_of
from tests.builders import ONE_GPU, Parts, Task, gpu, placed, sample, task, two_socket


def machine(parts: Parts | None = None) -> Machine:
    found = placed(sample(parts or two_socket())).machine
    assert found is not None
    return found


def roles(evidence: Mapping[str, int | None], settings: Settings | None = None) -> dict[str, str]:
    rows = [GpuEvidence(uuid=uuid, evidence="nvml", used_bytes=used) for uuid, used in evidence.items()]
    found = holdings_of(rows, machine(), True, settings or Settings())
    return {holding.uuid: holding.role for holding in found.holdings}


def only_rank_gpus(placement: Placement) -> list[tuple[str, ...]]:
    return [rank.gpus for workload in placement.workloads for rank in workload.ranks]


class TestMainAndStray:
    def test_the_largest_is_main_however_small(self) -> None:
        assert roles({"GPU-0": 300 * MIB}) == {"GPU-0": "main"}

    @pytest.mark.parametrize("used", [0, 534 * MIB, 1024 * MIB, 1535 * MIB])
    def test_a_context_that_a_library_opened_is_stray(self, used: int) -> None:
        assert roles({"GPU-0": ONE_GPU, "GPU-5": used}) == {"GPU-0": "main", "GPU-5": "stray"}

    def test_another_is_main_from_1536_mib_and_a_tenth_of_the_largest_on(self) -> None:
        assert roles({"GPU-0": 10 * GIB, "GPU-1": 1536 * MIB})["GPU-1"] == "main"
        assert roles({"GPU-0": 40 * GIB, "GPU-1": 3 * GIB})["GPU-1"] == "stray", "3 GiB are less than a tenth"
        assert roles({"GPU-0": 40 * GIB, "GPU-1": 4 * GIB})["GPU-1"] == "main"

    def test_the_least_size_is_a_setting(self) -> None:
        assert roles({"GPU-0": 4 * GIB, "GPU-1": GIB}, Settings(gpu_min_holding_bytes=GIB))["GPU-1"] == "main"

    def test_equally_large_ones_are_all_main(self) -> None:
        assert set(roles({"GPU-0": 500 * MIB, "GPU-1": 500 * MIB}).values()) == {"main"}

    def test_a_stray_one_does_not_widen_the_home(self) -> None:
        placement = placed(sample(two_socket(), task(1, gpus={"GPU-0": ONE_GPU, "GPU-7": 534 * MIB})))
        rank = placement.workloads[0].ranks[0]
        assert rank.home == {0} and rank.gpus == ("GPU-0",)
        assert [(held.uuid, held.role) for held in rank.processes[0].holdings] == [
            ("GPU-0", "main"),
            ("GPU-7", "stray"),
        ]


class TestWithoutSizes:
    """MIG and vGPU have no used bytes."""

    def test_every_context_is_main_and_confidence_low(self) -> None:
        placement = placed(sample(two_socket(), task(1, gpus={"GPU-0": None, "GPU-1": None})))
        rank = placement.workloads[0].ranks[0]
        assert rank.gpus == ("GPU-0", "GPU-1")
        assert rank.low_confidence == "used bytes are not known"
        assert rank.unjudged is None and rank.gpu_used_bytes is None

    def test_no_verdict_where_they_span_sockets(self) -> None:
        placement = placed(sample(two_socket(), task(1, gpus={"GPU-0": None, "GPU-7": None})))
        assert placement.workloads[0].ranks[0].unjudged == "used bytes are not known and its GPUs span sockets"

    def test_one_unknown_size_is_enough(self) -> None:
        assert set(roles({"GPU-0": ONE_GPU, "GPU-1": None}).values()) == {"main"}

    def test_nothing_but_zeros_says_no_more(self) -> None:
        assert set(roles({"GPU-0": 0, "GPU-1": 0}).values()) == {"main"}


class TestMig:
    def test_instances_belong_to_their_parent(self) -> None:
        """P24: the node of a MIG device is its parent's; P42: its own ids stay beside it."""
        rows = (
            GpuEvidence(uuid="GPU-5", evidence="nvml", gpu_instance_id=1, mig_uuid="MIG-1"),
            GpuEvidence(uuid="GPU-5", evidence="nvml", gpu_instance_id=2, mig_uuid="MIG-2"),
        )
        placement = placed(sample(two_socket(), _with(task(1), rows)))
        rank = placement.workloads[0].ranks[0]
        assert (rank.key.uuid, rank.home) == ("GPU-5", {1})
        assert [(held.mig_uuid, held.gpu_instance_id) for held in rank.processes[0].holdings] == [
            ("MIG-1", 1),
            ("MIG-2", 2),
        ]

    def test_two_containers_on_slices_of_one_gpu_have_a_rank_each(self) -> None:
        """P41: one GPU, many containers."""
        rows = [
            (GpuEvidence(uuid="GPU-0", evidence="nvml", gpu_instance_id=one, mig_uuid=f"MIG-{one}"),) for one in (1, 2)
        ]
        tasks = [_with(task(1 + one, cgroup=f"/system.slice/engine-{one}.service"), rows[one]) for one in (0, 1)]
        placement = placed(sample(two_socket(), *tasks))
        assert [str(work.key) for work in placement.workloads] == ["engine-0.service", "engine-1.service"]
        assert only_rank_gpus(placement) == [("GPU-0",), ("GPU-0",)]

    def test_sizes_of_instances_add_up_and_lists_do_not(self) -> None:
        rows = [
            GpuEvidence(uuid="GPU-0", evidence="nvml", kind="compute", used_bytes=GIB, gpu_instance_id=1),
            GpuEvidence(uuid="GPU-0", evidence="nvml", kind="graphics", used_bytes=GIB, gpu_instance_id=1),
            GpuEvidence(uuid="GPU-0", evidence="nvml", kind="compute", used_bytes=GIB, gpu_instance_id=2),
            GpuEvidence(uuid="GPU-1", evidence="nvml", used_bytes=25 * GIB),
        ]
        found = holdings_of(rows, machine(), True, Settings())
        assert found.main == {"GPU-1"}, "2 GiB are less than a tenth of 25"
        assert [held.used_bytes for held in found.holdings] == [GIB, GIB, 25 * GIB]


class TestEvidence:
    @staticmethod
    def of(*evidence: Evidence, nvml_ever: bool = False, compute: bool = True, vendor: str = "nvidia") -> Holdings:
        parts = two_socket(0).with_gpus(gpu(0, 0)).change_gpus(vendor=vendor)
        rows = [GpuEvidence(uuid="GPU-0", evidence=one, opened_compute=compute) for one in evidence]
        return holdings_of(rows, machine(parts), nvml_ever, Settings())

    def test_the_best_evidence_is_kept(self) -> None:
        assert [held.evidence for held in self.of("fd", "vfio", "nvml", "kubelet").holdings] == ["nvml"]

    def test_open_files_count_only_where_nvml_was_absent_since_the_start(self) -> None:
        assert self.of("fd").main == {"GPU-0"}
        assert self.of("fd", nvml_ever=True) == Holdings()

    def test_open_files_count_only_with_nvidia_uvm_open(self) -> None:
        assert self.of("fd", compute=False) == Holdings()

    def test_open_files_make_confidence_low(self) -> None:
        parts = two_socket()
        without = parts.with_gpus(*parts.gpus.gpus, nvml=False)
        rank = placed(sample(without, task(1, gpus="GPU-0", evidence="fd"))).workloads[0].ranks[0]
        assert rank.low_confidence == "known by open files only"

    def test_a_grant_is_no_context(self) -> None:
        assert self.of("kubelet") == Holdings()

    def test_kfd_and_drm_tell_of_other_vendors_whatever_nvml_does(self) -> None:
        assert self.of("kfd", vendor="amd", nvml_ever=True).main == {"GPU-0"}
        assert self.of("drm", vendor="intel", nvml_ever=True).main == {"GPU-0"}
        assert self.of("drm", nvml_ever=True) == Holdings(), "of NVIDIA's it is the display part"

    def test_a_gpu_given_to_a_virtual_machine_is_held_by_it(self) -> None:
        assert self.of("vfio", nvml_ever=True).main == {"GPU-0"}

    def test_open_files_beside_better_evidence_say_nothing(self) -> None:
        """ROCm opens every visible GPU."""
        parts = two_socket().change_gpus(vendor="amd")
        rows = [
            GpuEvidence(uuid="GPU-0", evidence="kfd", used_bytes=GIB),
            GpuEvidence(uuid="GPU-7", evidence="fd", opened_compute=True),
        ]
        assert holdings_of(rows, machine(parts), False, Settings()).main == {"GPU-0"}


class TestObservers:
    @pytest.mark.parametrize(
        "comm",
        [
            "nv-hostengine",
            "dcgm-exporter",
            "nvidia-persiste",
            "nv-fabricmanage",
            "nvidia-device-p",
            "nvidia-cuda-mps",
            "nvtop",
        ],
    )
    def test_daemons_are_listed_and_never_a_rank(self, comm: str) -> None:
        placement = placed(sample(two_socket(), task(1, gpus="GPU-0", comm=comm), task(2, gpus="GPU-1")))
        assert [(seen.comm, seen.gpus, str(seen.workload)) for seen in placement.observers] == [
            (comm, ("GPU-0",), "vllm.service")
        ]
        assert [held.role for held in placement.observers[0].holdings] == ["observer"]
        assert only_rank_gpus(placement) == [("GPU-1",)]
        assert (placement.attribution.attributed, placement.attribution.observer) == (1, 1)

    def test_ourselves(self) -> None:
        placement = placed(sample(two_socket(), task(1, gpus="GPU-0", own=True)))
        assert placement.workloads == () and len(placement.observers) == 1

    def test_a_display_server_only_while_it_computes_nothing(self) -> None:
        drawing = _with(
            task(1, comm="Xorg"), (GpuEvidence(uuid="GPU-0", evidence="nvml", kind="graphics", used_bytes=1),)
        )
        computing = _with(task(1, comm="Xorg"), (GpuEvidence(uuid="GPU-0", evidence="nvml", used_bytes=1),))
        assert len(placed(sample(two_socket(), drawing)).observers) == 1
        assert placed(sample(two_socket(), computing)).observers == ()

    def test_whoever_only_draws(self) -> None:
        rows = (GpuEvidence(uuid="GPU-0", evidence="nvml", kind="graphics", used_bytes=GIB),)
        placement = placed(sample(two_socket(), _with(task(1, comm="chrome"), rows)))
        assert placement.workloads == () and [seen.comm for seen in placement.observers] == ["chrome"]

    def test_a_display_server_where_nvml_was_never_there(self) -> None:
        parts = two_socket()
        without = parts.with_gpus(*parts.gpus.gpus, nvml=False)
        found = placed(sample(without, task(1, gpus="GPU-0", evidence="fd", comm="Xorg")))
        assert found.workloads == () and len(found.observers) == 1

    def test_clients_of_an_mps_server_are_ranks(self) -> None:
        client = _with(task(2), (GpuEvidence(uuid="GPU-0", evidence="nvml", kind="mps", used_bytes=GIB),))
        placement = placed(sample(two_socket(), task(1, gpus="GPU-0", comm="nvidia-cuda-mps"), client))
        assert [process.key.pid for process in placement.workloads[0].ranks[0].processes] == [2]


def _with(one: Task, evidence: tuple[GpuEvidence, ...]) -> Task:
    return replace(one, process=replace(one.process, evidence=evidence))
