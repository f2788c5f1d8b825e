"""Contract §1: ranks, helpers and workloads. Each process is in exactly one rank."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.model.ids import WorkloadKey
from numa_exporter.model.names import Names
from numa_exporter.model.placement import Placement, Workload
from numa_exporter.model.processes import Cgroup, Processes
from numa_exporter.model.thresholds import GIB, Settings
from tests.builders import ONE_GPU, VLLM, Task, container, cpus, placed, sample, task, two_socket

POD_2 = "/kubepods/burstable/pod068e8fa0-9213-11e7-a01f-507b9d4141fb"


def members(workload: Workload) -> dict[str | None, list[int]]:
    """PIDs by the uuid of their rank, helpers under None."""
    ranks = [*workload.ranks, *([workload.helpers] if workload.helpers else [])]
    return {rank.key.uuid: [process.key.pid for process in rank.processes] for rank in ranks}


def one_workload(*tasks: Task) -> Workload:
    (workload,) = placed(sample(two_socket(), *tasks)).workloads
    return workload


def gpus(*numbers: int) -> dict[str, int]:
    return {f"GPU-{number}": ONE_GPU for number in numbers}


class TestRanks:
    def test_processes_with_the_same_main_set_are_one_rank(self) -> None:
        found = one_workload(task(1, gpus="GPU-0"), task(2, gpus="GPU-1"), task(3, gpus="GPU-0"))
        assert members(found) == {"GPU-0": [1, 3], "GPU-1": [2]}

    def test_the_key_is_the_lowest_uuid_of_the_set(self) -> None:
        found = one_workload(task(1, gpus=gpus(3, 2)))
        assert (found.ranks[0].key.uuid, found.ranks[0].gpus) == ("GPU-2", ("GPU-2", "GPU-3"))

    def test_the_key_survives_a_restart(self) -> None:
        before, after = one_workload(task(1, gpus=gpus(0, 1))), one_workload(task(99, gpus=gpus(0, 1)))
        assert before.ranks[0].key == after.ranks[0].key

    def test_a_process_that_strictly_contains_another_ranks_set_is_a_helper(self) -> None:
        found = one_workload(task(1, gpus=gpus(0, 1)), task(2, gpus="GPU-0"), task(3, gpus="GPU-1"))
        assert members(found) == {"GPU-0": [2], "GPU-1": [3], None: [1]}

    def test_a_launcher_of_launchers_too(self) -> None:
        found = one_workload(task(1, gpus=gpus(0, 1, 2)), task(2, gpus=gpus(0, 1)), task(3, gpus="GPU-0"))
        assert members(found) == {"GPU-0": [3], None: [1, 2]}

    def test_two_sets_that_share_a_lowest_uuid_are_merged_and_said(self) -> None:
        found = one_workload(task(1, gpus=gpus(0, 1)), task(2, gpus=gpus(0, 7)))
        assert members(found) == {"GPU-0": [1, 2]}
        assert found.ranks[0].gpus == ("GPU-0", "GPU-1", "GPU-7")
        assert found.ranks[0].home == {0, 1}
        assert found.notes == (
            "processes on {GPU-0, GPU-1} and {GPU-0, GPU-7} share their lowest GPU and are shown as one rank",
        )

    def test_sets_that_only_overlap_are_two_ranks(self) -> None:
        found = one_workload(task(1, gpus=gpus(0, 1)), task(2, gpus=gpus(1, 2)))
        assert members(found) == {"GPU-0": [1], "GPU-1": [2]} and found.notes == ()

    def test_start_and_size_of_a_rank(self) -> None:
        found = one_workload(task(1, gpus="GPU-0", started=200.0), task(2, gpus="GPU-0", started=100.0))
        assert found.ranks[0].start_time == 100.0
        assert found.ranks[0].gpu_used_bytes == 2 * ONE_GPU
        assert [process.key.pid for process in found.ranks[0].processes] == [2, 1], "the oldest leads"

    @given(st.lists(st.frozensets(st.integers(0, 7), max_size=4), min_size=1, max_size=12))
    def test_every_process_is_in_exactly_one_rank(self, held: list[frozenset[int]]) -> None:
        tasks = [task(pid, gpus=gpus(*numbers)) for pid, numbers in enumerate(held, 1)]
        placement = placed(sample(two_socket(), *tasks))
        pids = [pid for workload in placement.workloads for group in members(workload).values() for pid in group]
        expected = range(1, len(held) + 1) if any(held) else ()
        assert sorted(pids) == list(expected)
        keys = [rank.key for workload in placement.workloads for rank in workload.ranks]
        assert len(keys) == len(set(keys))


class TestHelpers:
    def test_a_process_without_a_gpu_is_a_helper_whose_home_is_the_containers(self) -> None:
        found = one_workload(task(1, gpus="GPU-0"), task(2, gpus="GPU-7"), task(3, comm="tokenizer"))
        assert found.helpers is not None
        assert (found.helpers.key.uuid, found.helpers.home, found.helpers.gpus) == (None, {0, 1}, ())
        assert [process.evidence for process in found.helpers.processes] == [None]

    def test_in_another_container_of_the_pod_the_home_is_the_pods(self) -> None:
        engine, sidecar = task(1, gpus="GPU-7", cgroup=container("a")), task(2, cgroup=container("b"))
        found = {str(work.key): work for work in placed(sample(two_socket(), engine, sidecar)).workloads}
        assert found["aaaaaaaaaaaa"].helpers is None
        assert found["bbbbbbbbbbbb"].ranks == () and found["bbbbbbbbbbbb"].gpus == ()
        helpers = found["bbbbbbbbbbbb"].helpers
        assert helpers is not None and helpers.home == {1}

    def test_other_pods_and_units_are_nobodys_helpers(self) -> None:
        engine = task(1, gpus="GPU-7", cgroup=container("a"))
        others = task(2, cgroup=container("b", POD_2)), task(3, cgroup="/system.slice/cron.service")
        assert [str(work.key) for work in placed(sample(two_socket(), engine, *others)).workloads] == ["aaaaaaaaaaaa"]

    def test_a_pods_sandbox_is_no_workload_unless_it_holds_a_gpu(self) -> None:
        engine, pause = task(1, gpus="GPU-7", cgroup=container("a")), task(2, comm="pause", cgroup=container("b"))
        machine = task(3, gpus="GPU-6", comm="qemu", cgroup=container("c"))
        names = Names(sandboxes=frozenset({"b" * 64, "c" * 64}))
        found = placed(sample(two_socket(), engine, pause, machine, names=names)).workloads
        assert [str(work.key) for work in found] == ["aaaaaaaaaaaa", "cccccccccccc"]

    def test_an_unknown_affinity_leaves_the_helpers_without_a_home(self) -> None:
        parts = two_socket(1).change_gpus(function=None)
        (found,) = placed(sample(parts, task(1, gpus="GPU-0"), task(2))).workloads
        assert found.helpers is not None and found.helpers.home == frozenset()
        assert found.ranks[0].unjudged == "the affinity of a GPU is unknown"


class TestWorkloads:
    @staticmethod
    def key(cgroup: str) -> WorkloadKey:
        (found,) = placed(sample(two_socket(), task(1, gpus="GPU-0", cgroup=cgroup))).workloads
        return found.key

    def test_units_of_a_host(self) -> None:
        digits = "81950eac5506" + "0" * 52
        assert self.key(VLLM) == WorkloadKey(unit="vllm.service")
        assert self.key(f"/system.slice/docker-{digits}.scope") == WorkloadKey(unit="docker/81950eac5506")
        assert self.key(f"/machine.slice/libpod-{digits}.scope") == WorkloadKey(unit="podman/81950eac5506")
        assert self.key("/system.slice/slurmstepd.scope/job_77/step_0/user/task_0") == WorkloadKey(unit="slurm/77/0")
        assert self.key("/lxc.payload.demo/init.scope") == WorkloadKey(unit="lxc/demo")

    def test_a_pods_container_goes_by_its_short_id_until_names_are_known(self) -> None:
        (found,) = placed(sample(two_socket(), task(1, gpus="GPU-0", cgroup=container("a")))).workloads
        assert found.key == WorkloadKey(unit="aaaaaaaaaaaa")
        assert (found.pod_uid, found.container_id, found.runtime, found.qos_class) == (
            "068e8fa0-9213-11e7-a01f-507b9d4141fa",
            "a" * 64,
            "containerd",
            "Guaranteed",
        )

    def test_one_gpu_shared_by_containers_is_in_each(self) -> None:
        """P41."""
        tasks = [task(pid, gpus={"GPU-0": pid * GIB}, cgroup=container(digit)) for pid, digit in ((2, "a"), (3, "b"))]
        found = placed(sample(two_socket(), *tasks)).workloads
        assert [work.ranks[0].gpu_used_bytes for work in found] == [2 * GIB, 3 * GIB]

    def test_the_cgroup_is_the_containers(self) -> None:
        facts = Cgroup(path=VLLM, version=2, cpus=cpus("0-3,16-17"), mems=frozenset({0, 1}))
        (found,) = placed(sample(two_socket(), task(1, gpus="GPU-0"), cgroups=[facts])).workloads
        assert found.cgroup is facts
        assert found.cpuset_by_locality == {"local": 4, "remote": 2}

    def test_excluded_ones_vanish_whole(self) -> None:
        tasks = task(1, gpus="GPU-0"), task(2, gpus="GPU-1", cgroup="/system.slice/vllm-2.service")
        found = placed(sample(two_socket(), *tasks), settings=Settings(excluded_workloads=(r"vllm\.service",)))
        assert [str(work.key) for work in found.workloads] == ["vllm-2.service"]

    def test_a_process_that_is_nobodys_is_counted(self) -> None:
        strange = task(
            1, gpus="GPU-0", cgroup="/system.slice/x.service/kubepods-pod068e8fa0_9213_11e7_a01f_507b9d4141fa.slice"
        )
        found: Placement = placed(sample(two_socket(), strange))
        assert found.workloads == () and found.attribution.unattributed == 1

    def test_what_the_source_could_not_attribute_is_passed_on(self) -> None:
        one = sample(two_socket(), task(1, gpus="GPU-0"))
        found = placed(
            replace(
                one,
                processes=Processes(processes=one.processes.processes, unattributed=2, denied=3)
                if one.processes
                else None,
            )
        )
        assert found.attribution.unattributed == 2 and found.attribution.denied == 3
