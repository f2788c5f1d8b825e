import json
from pathlib import Path

import pytest

from numa_exporter.formats import proc_cgroup
from numa_exporter.formats.workload_path import WorkloadPath, classify, classify_path

A, B = "a" * 64, "0123456789abcdef" * 4
UID = "01234567-89ab-cdef-0123-456789abcdef"
SLICE = UID.replace("-", "_")
JOB = "/system.slice/slurmstepd.scope/job_1392969"


def of_file(text: str) -> WorkloadPath:
    if text.startswith("/"):
        return classify_path(text.strip())
    return classify(proc_cgroup.parse(text.encode(), "/proc/1/cgroup"))


def shown(workload: WorkloadPath) -> dict[str, str]:
    fields = (name for name in workload.__slots__ if name not in ("path", "directory"))
    return {name: getattr(workload, name) for name in fields if getattr(workload, name) is not None}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (
            f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{SLICE}.slice/cri-containerd-{A}.scope",
            {"pod_uid": UID, "container_id": A, "qos_class": "Burstable", "runtime": "containerd"},
        ),
        (
            f"/kubepods.slice/kubepods-pod{SLICE}.slice/crio-{A}.scope/container/system.slice/x.service",
            {"pod_uid": UID, "container_id": A, "qos_class": "Guaranteed", "runtime": "cri-o"},
        ),
        (
            f"/kubepods/besteffort/pod{UID.replace('-', '')}/{A}",
            {"pod_uid": UID.replace("-", ""), "container_id": A, "qos_class": "BestEffort"},
        ),
        (
            f"/kubepods/pod{UID}/crio-{A}",
            {"pod_uid": UID, "container_id": A, "qos_class": "Guaranteed", "runtime": "cri-o"},
        ),
        (
            f"/kubepods/kubepods/besteffort/pod{UID}/{A}",
            {"pod_uid": UID, "container_id": A, "qos_class": "BestEffort"},
        ),
        (
            f"/system.slice/containerd.service/kubepods-besteffort-pod{SLICE}.slice:cri-containerd:{A}",
            {"pod_uid": UID, "container_id": A, "qos_class": "BestEffort", "runtime": "containerd"},
        ),
        (
            f"/x.slice/docker-{B}.scope/kubelet.slice/kubelet-kubepods.slice"
            f"/kubelet-kubepods-pod{SLICE}.slice/cri-containerd-{A}.scope",
            {
                "pod_uid": UID,
                "container_id": A,
                "qos_class": "Guaranteed",
                "runtime": "containerd",
                "outer_container_id": B,
            },
        ),
        (f"/kubepods/pod{UID}/{A}/docker/{B}", {"pod_uid": UID, "container_id": A, "qos_class": "Guaranteed"}),
        (f"/kubepods/pod{UID}/{UID}", {"pod_uid": UID, "container_id": UID, "qos_class": "Guaranteed"}),
        (f"/../../../besteffort/pod{UID}/{A}", {"pod_uid": UID, "container_id": A, "qos_class": "BestEffort"}),
        (f"/../../pod{UID}/{A}", {"pod_uid": UID, "container_id": A}),
        (f"/../cri-containerd-{A}.scope", {"container_id": A, "runtime": "containerd"}),
        (
            f"/kubepods/pod{UID}/{A}/system.slice/slurmstepd.scope/job_7/step_batch/user/task_0",
            {
                "pod_uid": UID,
                "container_id": A,
                "qos_class": "Guaranteed",
                "slurm_job_id": "7",
                "slurm_step": "batch",
            },
        ),
    ],
)
def test_kubernetes(path: str, expected: dict[str, str]) -> None:
    assert shown(classify_path(path)) == {"kind": "k8s-container", **expected}


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        (f"{JOB}/step_0/user/task_0/libpod-{B}", "podman/0123456789ab"),
        (f"/docker/{B}{JOB}/step_0/user/task_0", "docker/0123456789ab"),
    ],
)
def test_a_container_in_a_job_and_a_job_in_a_container(path: str, unit: str) -> None:
    workload = classify_path(path)
    assert (workload.kind, workload.unit) == ("container", unit)
    assert (workload.slurm_job_id, workload.slurm_step) == ("1392969", "0")


@pytest.mark.parametrize("name", ["runsc-sandbox", f"crio-conmon-{A}.scope"])
def test_what_is_in_a_pod_but_in_no_container(name: str) -> None:
    workload = classify_path(f"/kubepods/burstable/pod{UID}/{name}")
    assert (workload.kind, workload.pod_uid, workload.container_id) == ("pod-no-container", UID, None)


@pytest.mark.parametrize(
    "path",
    [
        f"/vendor.slice/pod{UID}/{A}",
        f"/pod{UID}/{A}",
        f"/burstable/pod{UID}/{A}",
        f"/notkubepods/burstable/pod{UID}/{A}",
        f"/user.slice/kubepods-burstable-pod{SLICE}.slice/cri-containerd-{A}.scope",
        f"/kubepods.slice/kubepods-besteffort-pod{SLICE}.slice/cri-containerd-{A}.scope",
    ],
)
def test_a_pod_where_the_kubelet_makes_none_is_nobodys(path: str) -> None:
    workload = classify_path(path)
    assert (workload.kind, workload.pod_uid, workload.container_id) == ("ambiguous", None, None)


@pytest.mark.parametrize(
    ("path", "kind", "unit"),
    [
        (f"/system.slice/docker-{B}.scope", "container", "docker/0123456789ab"),
        (f"/docker/{B}", "container", "docker/0123456789ab"),
        (f"/system.slice:docker:{B}", "container", "docker/0123456789ab"),
        (f"/machine.slice/libpod-{B}.scope/container", "container", "podman/0123456789ab"),
        (f"/libpod_parent/libpod-{B}", "container", "podman/0123456789ab"),
        (
            f"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{B}.scope",
            "container",
            "podman/0123456789ab",
        ),
        (f"/k8s.io/{B}", "container", B),
        (f"/system.slice/nerdctl-{B}.scope", "container", f"nerdctl-{B}.scope"),
        (JOB + "/step_0/user/task_0", "slurm-job", "slurm/1392969/0"),
        (JOB.replace("/slurmstepd", "/node1_slurmstepd") + "/step_extern", "slurm-job", "slurm/1392969/extern"),
        (JOB.replace("job_1392969", "s5K1KKYAYG5D00") + "/step_0/user", "slurm-job", "slurm/s5K1KKYAYG5D00/0"),
        ("/slurm/uid_1000/job_1009248", "slurm-job", "slurm/1009248"),
        ("/slurm_node7/uid_1000/job_12/step_batch/task_0", "slurm-job", "slurm/12/batch"),
        ("/system.slice/slurmstepd.scope/system", "host", "slurmstepd.scope"),
        ("/lxc.payload.demo/system.slice/x.service", "lxc", "lxc/demo"),
        ("/lxc/p1", "lxc", "lxc/p1"),
        ("/lxc.monitor.demo", "host", "lxc.monitor.demo"),
        (
            "/machine.slice/machine-qemu\\x2d1\\x2dinstance\\x2d00000002.scope/libvirt/vcpu0",
            "vm",
            "machine-qemu\\x2d1\\x2dinstance\\x2d00000002.scope",
        ),
        ("/libvirt/qemu/RHEL-7.1/emulator", "vm", "RHEL-7.1"),
        ("/system.slice/vllm.service", "host", "vllm.service"),
        ("/system.slice/vllm.service/workers", "host", "vllm.service"),
        ("/user.slice/user-1000.slice/session-3.scope", "host", "session-3.scope"),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/sglang.service", "host", "user@1000/sglang.service"),
        # Another user's unit of the same name is another workload.
        ("/user.slice/user-1001.slice/user@1001.service/sglang.service", "host", "user@1001/sglang.service"),
        ("/user.slice/user-1000.slice/user@1000.service/init.scope", "host", "user@1000/init.scope"),
        ("/user.slice/user-1000.slice/user@1000.service", "host", "user@1000.service"),
        ("/user.slice/user-1000.slice", "host", "user-1000.slice"),
        (f"/machine.slice/libpod-conmon-{B}.scope", "host", f"libpod-conmon-{B}.scope"),
        ("/some/place", "host", "place"),
        ("/caf\udce9", "host", "caf\\xe9"),
        ("/", "host", "/"),
        ("", "host", "/"),
    ],
)
def test_workloads_of_hosts(path: str, kind: str, unit: str) -> None:
    workload = classify_path(path)
    assert (workload.kind, workload.unit) == (kind, unit)


@pytest.mark.parametrize(
    ("path", "directory"),
    [
        (f"/kubepods/pod{UID}/{A}/a/b", f"/kubepods/pod{UID}/{A}"),
        (f"/c.service/kubepods-pod{SLICE}.slice:crio:{A}/x", f"/c.service/kubepods-pod{SLICE}.slice:crio:{A}"),
        (f"/machine.slice/libpod-{B}.scope/container", f"/machine.slice/libpod-{B}.scope"),
        (JOB + "/step_0/user/task_0", JOB + "/step_0"),
        ("/lxc.payload.demo/x", "/lxc.payload.demo"),
        ("/system.slice/vllm.service/workers", "/system.slice/vllm.service"),
        ("/", "/"),
    ],
)
def test_the_workloads_own_directory(path: str, directory: str) -> None:
    assert classify_path(path).directory == directory


def test_on_hybrid_hosts_the_first_line_that_names_a_workload_decides() -> None:
    text = f"5:pids:/lxc/x\n3:cpuset:/docker/{A}\n2:memory:/docker/{A}/below\n1:name=systemd:/a.service\n0::/\n"
    assert of_file(text).path == f"/docker/{A}/below"
    assert of_file(text.replace("cpuset", "name=systemd")).path == f"/docker/{A}"


def test_hierarchies_that_name_different_containers_name_none() -> None:
    workload = of_file(f"3:cpuset:/docker/{A}\n2:memory:/docker/{B}\n")
    assert (workload.kind, workload.container_id) == ("ambiguous", None)


def test_something_nested_decides_over_what_is_around_it() -> None:
    text = f"2:memory:/docker/{B}/kubepods/pod{UID}/{A}\n1:name=systemd:/docker/{B}\n"
    workload = of_file(text)
    assert (workload.container_id, workload.outer_container_id) == (A, B)
    assert of_file(f"1:name=systemd:/docker/{B}/docker/{A}\n2:memory:/docker/{B}\n").container_id == A


def test_without_a_workload_the_deepest_path_is_the_unit() -> None:
    assert (
        of_file("2:cpuset:/\n1:name=systemd:/user.slice/user-0.slice/session-2.scope\n0::/x\n").unit
        == "session-2.scope"
    )
    assert classify(()).unit == "/"


def test_every_collected_file(shared_data: Path) -> None:
    rows = [json.loads(line) for line in (shared_data / "cgroup/cases.jsonl").read_text().splitlines()]
    assert rows
    for row in rows:
        workload = of_file(row["proc_cgroup"])
        assert {key: getattr(workload, key) for key in row["expect"]} == row["expect"], row["id"]


def test_docker_of_all_ages(shared_data: Path) -> None:
    folder = shared_data / "cgroup/newrelic-docker_container_id"
    cases = json.loads((folder / "cases.json").read_text())
    assert cases
    for case in cases:
        assert of_file((folder / case["filename"]).read_text()).container_id == case["containerId"], case["filename"]


@pytest.mark.parametrize(
    "path",
    [
        "/kubepods.slice/kubepods-pod77d68b1c_\udccf.slice/cri-containerd-x.scope",
        "/system.slice/slurmstepd.scope/job_7/step_\udccf/user/task_0",
        f"/slurm/job_7/step_\udccf/kubepods/pod068e8fa0-9213-11e7-a01f-507b9d4141fa/{'a' * 64}",
        "/lxc.payload.\udccf/init.scope",
        "/user.slice/user-1000.slice/user@1000.service/\udccf.service",
        "/machine.slice/machine-qemu\udccf.scope/libvirt/vcpu0",
    ],
)
def test_labels_are_text_whatever_a_cgroup_is_called(path: str) -> None:
    workload = classify_path(path)
    for label in (workload.unit, workload.pod_uid, workload.container_id, workload.slurm_job_id, workload.slurm_step):
        (label or "").encode("utf-8")
