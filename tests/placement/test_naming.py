"""What workloads are called, and that it stays so."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from numa_exporter.formats import proc_cgroup
from numa_exporter.formats.workload_path import classify, classify_path
from numa_exporter.model.ids import WorkloadKey
from numa_exporter.model.names import ContainerName, Names, PodName
from numa_exporter.model.placement import Placement
from numa_exporter.model.sample import Sample
from tests.builders import Task, placed, sample, task, two_socket
from tests.kubernetes.machines import Node, answer, cgroup_path, container_id, names_of, pod_task, uid

DOCKER = "/system.slice/docker-" + "d" * 64 + ".scope"
SLURM = "/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_0"
LLM = WorkloadKey(namespace="prod", pod="llm-0", container="vllm")
SHORT = WorkloadKey(unit=container_id("llm-0")[:12])


def keys(*samples: Sample) -> list[WorkloadKey]:
    return [workload.key for workload in placed(*samples).workloads]


def look(*tasks: Task, at: float = 0.0, names: Names | None = None) -> Sample:
    return sample(two_socket(), *tasks, at=at, names=names)


def on_gpu(pod: str = "llm-0", pid: int = 1, **fields: object) -> Task:
    return pod_task(pid, pod, gpus="GPU-0", **fields)


def test_by_container_id() -> None:
    assert keys(look(on_gpu(), names=names_of("llm-0"))) == [LLM]


def test_without_names_by_short_id_and_the_pods_uid_is_told() -> None:
    (workload,) = placed(look(on_gpu())).workloads
    assert (workload.key, workload.pod_uid) == (SHORT, uid("llm-0"))


def test_pod_without_container_name_stays_unique() -> None:
    names = Names(pods={uid("llm-0"): PodName(namespace="prod", pod="llm-0")})
    both = look(on_gpu(), on_gpu(container="side", pid=2), names=names)
    assert set(keys(both)) == {
        WorkloadKey(namespace="prod", pod="llm-0", unit=container_id("llm-0")[:12]),
        WorkloadKey(namespace="prod", pod="llm-0", unit=container_id("llm-0", "side")[:12]),
    }


def test_the_checkpoint_names_the_container_that_holds_the_gpu() -> None:
    names = Names(pods={uid("llm-0"): PodName(namespace="prod", pod="llm-0")})
    host = Node(two_socket(), names=names).granting("llm-0", gpus=("GPU-0",))
    assert keys(host.sample(on_gpu())) == [LLM]
    # A sidecar that is on none of them is not named by it.
    placement = placed(host.sample(on_gpu(), pod_task(2, "llm-0", container="side")))
    assert WorkloadKey(namespace="prod", pod="llm-0", unit=container_id("llm-0", "side")[:12]) in {
        workload.key for workload in placement.workloads
    }


def test_podresources_and_checkpoint_together_name_without_any_log() -> None:
    host = Node(two_socket(), names=Names()).granting("llm-0", gpus=("GPU-0",))
    assert keys(host.sample(on_gpu())) == [WorkloadKey(container="vllm", unit=container_id("llm-0")[:12])]
    assert keys(host.with_kubelet(pods=(answer("llm-0", "GPU-0"),)).sample(on_gpu())) == [LLM]


def test_the_runtime_is_the_paths_else_the_names_sources() -> None:
    cgroupfs = task(1, gpus="GPU-0", cgroup=f"/kubepods/pod{uid('llm-0')}/{'a' * 64}")
    for names, runtime in ((Names(), None), (Names(runtimes={"a" * 64: "cri-o"}), "cri-o")):
        (workload,) = placed(look(cgroupfs, names=names)).workloads
        assert workload.runtime == runtime


def test_units_of_two_users_are_two_workloads() -> None:
    tasks = [
        task(user, gpus="GPU-0", cgroup=f"/user.slice/user-{user}.slice/user@{user}.service/app.slice/vllm.service")
        for user in (1000, 1001)
    ]
    assert keys(look(*tasks)) == [
        WorkloadKey(unit="user@1000/vllm.service"),
        WorkloadKey(unit="user@1001/vllm.service"),
    ]


def test_a_pods_overhead_is_the_pods() -> None:
    kata = task(1, gpus="GPU-0", cgroup=cgroup_path("llm-0").rsplit("/", 1)[0] + "/kata_overhead")
    assert keys(look(kata, names=names_of("llm-0"))) == [WorkloadKey(namespace="prod", pod="llm-0")]


def test_names_that_come_late_are_taken_once_and_never_lost() -> None:
    early, late, gone = look(on_gpu()), look(on_gpu(), at=15, names=names_of("llm-0")), look(on_gpu(), at=30)
    assert keys(early) == [SHORT]
    assert keys(early, late) == [LLM]
    assert keys(early, late, gone) == [LLM]
    partly = Names(pods={uid("llm-0"): PodName(namespace="prod", pod="llm-0")})
    assert keys(early, late, look(on_gpu(), at=30, names=partly)) == [LLM]


@pytest.mark.parametrize(
    ("cgroup", "names", "named", "bare"),
    [
        (DOCKER, Names(units={"d" * 64: "docker/llm"}), "docker/llm", "docker/dddddddddddd"),
        (SLURM, Names(slurm_jobs={"s5K1KKYAYG5D00": "4711"}), "slurm/4711/0", "slurm/s5K1KKYAYG5D00/0"),
    ],
)
def test_a_hosts_container_never_switches_while_it_lives(cgroup: str, names: Names, named: str, bare: str) -> None:
    own = task(1, gpus="GPU-0", cgroup=cgroup)
    with_name, without = look(own, names=names), look(own)
    assert [key.unit for key in keys(with_name)] == [named]
    assert [key.unit for key in keys(with_name, replace(without, taken_at=without.taken_at + 15))] == [named]
    assert [key.unit for key in keys(without, replace(with_name, taken_at=without.taken_at + 15))] == [bare]


def test_a_renamed_container_keeps_the_name_it_was_shown_under() -> None:
    own = task(1, gpus="GPU-0", cgroup=DOCKER)
    first = look(own, names=Names(units={"d" * 64: "docker/llm"}))
    assert [key.unit for key in keys(first, look(own, at=15, names=Names(units={"d" * 64: "docker/new"})))] == [
        "docker/llm"
    ]


def test_slurm_jobs_are_told_by_their_number() -> None:
    (workload,) = placed(
        look(task(1, gpus="GPU-0", cgroup=SLURM), names=Names(slurm_jobs={"s5K1KKYAYG5D00": "4711"}))
    ).workloads
    assert (workload.slurm_job_id, workload.slurm_step) == ("4711", "0")


def test_of_two_that_claim_a_name_it_is_the_younger_ones() -> None:
    """A stateful pod was deleted by force, its process is stuck on the GPU, and its successor runs."""
    old, new = on_gpu("old", pid=10), on_gpu("new", pid=20)
    name = ContainerName(namespace="prod", pod="llm-0", container="vllm")
    names = Names(containers={container_id("old"): name, container_id("new"): name})
    stuck = WorkloadKey(unit=container_id("old")[:12])
    assert keys(look(old, names=names)) == [LLM]
    together = [look(old, names=names), *(look(old, new, at=at, names=names) for at in (15.0, 30.0, 45.0))]
    for count in range(2, 5):
        assert sorted(map(str, keys(*together[:count]))) == sorted([str(stuck), str(LLM)])
    by_key = {workload.key: workload for workload in placed(*together).workloads}
    assert by_key[LLM].container_id == container_id("new")
    assert by_key[stuck].pod_uid == uid("old"), "and the other one's pod is still told"


def everything(placement: Placement) -> list[str]:
    observers = (observer.workload for observer in placement.observers)
    return [str(key) for key in (*(workload.key for workload in placement.workloads), *observers) if key]


def test_every_collected_cgroup_down_to_its_key(shared_data: Path) -> None:
    """Every runtime and driver that was seen in public, as a GPU process of it is shown; nobody's are said to be so."""
    rows = [json.loads(line) for line in (shared_data / "cgroup/cases.jsonl").read_text().splitlines()]
    assert rows
    for row in rows:
        text: str = row["proc_cgroup"]
        path = classify_path(text.strip()) if text.startswith("/") else classify(proc_cgroup.parse(text.encode(), "t"))
        expected = row["expect"]
        process = replace(task(1, gpus="GPU-0").process, cgroup=path, container_cgroup=path.directory)
        names = Names(
            pods={expected["pod_uid"]: PodName(namespace="prod", pod="llm-0")} if expected["pod_uid"] else {},
            containers=(
                {expected["container_id"]: ContainerName(namespace="prod", pod="llm-0", container="vllm")}
                if expected["kind"] == "k8s-container" and expected["container_id"]
                else {}
            ),
        )
        placement = placed(look(Task(process=process), names=names))
        assert placement.attribution.unattributed == (expected["kind"] == "ambiguous"), row["id"]
        shown = everything(placement)
        match expected["kind"]:
            case "k8s-container":
                assert shown == ["prod/llm-0/vllm"], row["id"]
                assert placement.workloads[0].pod_uid == expected["pod_uid"], row["id"]
            case "pod-no-container":
                assert shown == ["prod/llm-0"], row["id"]
            case "ambiguous":
                assert shown == [], row["id"]
            case _:
                assert shown == [path.unit], row["id"]
