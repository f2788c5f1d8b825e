"""Names from files that lie on the host."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from numa_exporter.bundle.members import line_of
from numa_exporter.formats.workload_path import classify_path
from numa_exporter.model.ids import ProcessKey
from numa_exporter.model.names import ContainerName, Names, PodName
from numa_exporter.model.processes import Process, Processes
from numa_exporter.model.recording import Frame, Recording, Refusal
from numa_exporter.model.sample import Sample
from numa_exporter.sources.host import HostError
from numa_exporter.sources.live import LiveHost
from numa_exporter.sources.names import NamesReader
from numa_exporter.sources.replay import RecordingHost, ReplayHost
from numa_exporter.sources.roots import Roots
from tests.fakehost import DENIED, Files, fake_host
from tests.kubernetes.machines import cgroup_path, container_id, uid
from tests.sources.machines import EMPTY

LLM = ContainerName(namespace="prod", pod="llm-0", container="vllm")
LOGS = f"/var/log/pods/prod_llm-0_{uid('llm-0')}"
DOCKER, PODMAN = "d" * 64, "e" * 64
SLURM = "/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_0"


def sample(*cgroups: str) -> Sample:
    processes = tuple(
        Process(
            key=ProcessKey(pid=pid, start_ticks=pid),
            ppid=1,
            comm="python3",
            cgroup=classify_path(cgroup),
            container_cgroup=None,
            cpuset_cgroup=None,
            threads=1,
            cpu_seconds=0.0,
        )
        for pid, cgroup in enumerate(cgroups, 100)
    )
    return replace(EMPTY, processes=Processes(processes=processes))


def names(files: Files, *cgroups: str, **doors: object) -> Names:
    found = NamesReader().read(fake_host(files, **doors), sample(*cgroups)).value  # type: ignore[arg-type]
    assert found is not None
    return found


def test_nothing_to_name_is_absent() -> None:
    with pytest.raises(HostError) as caught:
        NamesReader().read(fake_host({}), sample("/system.slice/vllm.service"))
    assert caught.value.word == "absent"


def test_when_the_last_one_ends_nothing_is_wrong() -> None:
    reader = NamesReader()
    files = {f"{LOGS}/vllm/0.log": ""}
    assert reader.read(fake_host(files), sample(cgroup_path("llm-0"))).value != Names()
    ended = reader.read(fake_host({}), sample())
    assert (ended.value, ended.failure) == (Names(), None)


def test_a_pod_with_one_container_is_named_by_its_log_directory() -> None:
    found = names({f"{LOGS}/vllm/0.log": ""}, cgroup_path("llm-0"))
    assert found.pods == {uid("llm-0"): PodName(namespace="prod", pod="llm-0")}
    assert found.containers == {container_id("llm-0"): LLM}


def test_of_several_containers_the_link_tells_which() -> None:
    files = {f"{LOGS}/vllm/0.log": "", f"{LOGS}/init/0.log": ""}
    assert names(files, cgroup_path("llm-0")).containers == {}
    link = f"/var/log/containers/llm-0_prod_vllm-{container_id('llm-0')}.log"
    assert names({**files, link: ""}, cgroup_path("llm-0")).containers == {container_id("llm-0"): LLM}


def test_a_cgroup_that_hides_its_pod_is_named_by_the_link() -> None:
    link = f"/var/log/containers/llm-0_prod_vllm-{container_id('llm-0')}.log"
    path = f"/../cri-containerd-{container_id('llm-0')}.scope"
    assert names({link: ""}, path).containers == {container_id("llm-0"): LLM}


def test_static_pods_are_named_by_their_hash() -> None:
    digest = "7260904bbd08e72e4dff95d9fccd2ee8"
    path = f"/kubepods/burstable/pod{digest}/{'a' * 64}"
    found = names({f"/var/log/pods/kube-system_infer-node1_{digest}/infer/0.log": ""}, path)
    assert found.containers["a" * 64].pod == "infer-node1"


def test_other_things_in_the_log_directories_are_passed_over() -> None:
    found = names({"/var/log/pods/lost+found/x": "", "/var/log/containers/x.log": "", f"{LOGS}/vllm/0.log": ""})
    assert list(found.pods) == [uid("llm-0")]


def picked(path: str, *members: str) -> str:
    return " ".join((path, *members))


BUNDLES = pytest.mark.parametrize(
    ("path", "members"),
    [
        (
            f"/run/containerd/io.containerd.runtime.v2.task/k8s.io/{container_id('llm-0')}/config.json",
            (
                "annotations/io.kubernetes.cri.container-type",
                "annotations/io.kubernetes.cri.sandbox-namespace",
                "annotations/io.kubernetes.cri.sandbox-name",
                "annotations/io.kubernetes.cri.container-name",
            ),
        ),
        (
            f"/run/containers/storage/overlay-containers/{container_id('llm-0')}/userdata/config.json",
            (
                "annotations/io.kubernetes.cri-o.ContainerType",
                "annotations/io.kubernetes.pod.namespace",
                "annotations/io.kubernetes.pod.name",
                "annotations/io.kubernetes.container.name",
            ),
        ),
    ],
    ids=["containerd", "cri-o"],
)


@BUNDLES
def test_last_the_runtimes_own_description(path: str, members: tuple[str, ...]) -> None:
    told = dict(zip(members, ("container", "prod", "llm-0", "vllm"), strict=True))
    found = names({}, cgroup_path("llm-0"), picked={picked(path, *members): told})
    assert found.containers == {container_id("llm-0"): LLM}


@BUNDLES
def test_a_pods_sandbox_is_not_its_only_container(path: str, members: tuple[str, ...]) -> None:
    told = dict(zip(members, ("sandbox", "prod", "llm-0"), strict=False))
    found = names({f"{LOGS}/vllm/0.log": ""}, cgroup_path("llm-0"), picked={picked(path, *members): told})
    assert (found.containers, found.sandboxes) == ({}, {container_id("llm-0")})


def test_docker_names_also_below_another_root() -> None:
    config = f"/data/docker/containers/{DOCKER}/config.v2.json"
    doors = {
        picked("/etc/docker/daemon.json", "data-root"): {"data-root": "/data/docker/"},
        picked(config, "Name"): {"Name": "/llm"},
    }
    assert names({}, f"/system.slice/docker-{DOCKER}.scope", picked=doors).units == {DOCKER: "docker/llm"}


def test_docker_names_of_a_user() -> None:
    """Rootless docker keeps its containers in the user's home; two users may each have one of that name."""
    files = {"/etc/passwd": "ada:x:1000:1000::/home/ada:/bin/sh\n"}
    config = f"/home/ada/.local/share/docker/containers/{DOCKER}/config.v2.json"
    cgroup = f"/user.slice/user-1000.slice/user@1000.service/user.slice/docker-{DOCKER}.scope"
    assert names(files, cgroup, picked={picked(config, "Name"): {"Name": "/llm"}}).units == {
        DOCKER: "user@1000/docker/llm"
    }


@pytest.mark.parametrize(
    ("cgroup", "storage", "unit"),
    [
        (f"/machine.slice/libpod-{PODMAN}.scope", "/var/lib/containers/storage", "podman/llm"),
        (
            f"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{PODMAN}.scope",
            "/home/ada/.local/share/containers/storage",
            "user@1000/podman/llm",
        ),
    ],
)
def test_podman_names_of_root_and_of_users(cgroup: str, storage: str, unit: str) -> None:
    files = {
        "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\n",
        f"{storage}/overlay-containers/containers.json": json.dumps([{"id": PODMAN, "names": ["llm"]}]),
    }
    assert names(files, cgroup).units == {PODMAN: unit}


def test_slurm_jobs_by_their_processes_environment() -> None:
    found = names({}, SLURM, environment={(100, "SLURM_JOB_ID"): "4711"})
    assert found.slurm_jobs == {"s5K1KKYAYG5D00": "4711"}


def test_an_environment_that_is_denied_is_asked_for_once_a_look() -> None:
    denied = {(pid, "SLURM_JOB_ID"): Refusal(word="denied", detail="?") for pid in (100, 101)}
    host = fake_host({f"{LOGS}/vllm/0.log": ""}, environment=denied)
    outcome = NamesReader().read(host, sample(SLURM, SLURM.replace("task_0", "task_1")))
    assert outcome.failure is not None
    assert (outcome.failure.word, outcome.counts) == ("denied", {"denied": 1})


def test_what_was_found_is_kept_while_the_container_lives_and_no_longer() -> None:
    reader = NamesReader()
    first = fake_host({f"{LOGS}/vllm/0.log": ""})
    assert reader.read(first, sample(cgroup_path("llm-0"))).value is not None
    later = fake_host({"/var/log/pods/prod_web-0_1/web/0.log": ""})
    kept = reader.read(later, sample(cgroup_path("llm-0"))).value
    assert kept is not None
    assert kept.containers == {container_id("llm-0"): LLM}
    ended = reader.read(later, sample()).value
    assert ended is not None
    assert ended.containers == {}


def test_a_log_directory_that_is_denied_is_said() -> None:
    frame = Frame(taken_at=1.0, monotonic=1.0, answers={("list", "/var/log/pods"): DENIED})
    denied = ReplayHost(Recording(nodename="n", simulated=False, exporter="t", frames=(frame,), settings={}))
    outcome = NamesReader().read(denied, sample(cgroup_path("llm-0")))
    assert outcome.failure is not None
    assert (outcome.failure.word, outcome.failure.path) == ("denied", "/var/log/pods")


def test_no_secret_beside_a_name_is_recorded(tmp_path: Path) -> None:
    container = tmp_path / f"var/lib/docker/containers/{DOCKER}"
    container.mkdir(parents=True)
    (container / "config.v2.json").write_text(json.dumps({"Name": "/llm", "Config": {"Env": ["TOKEN=hunter2"]}}))
    environ = tmp_path / "proc/101/environ"
    environ.parent.mkdir(parents=True)
    environ.write_bytes(b"TOKEN=hunter2\0SLURM_JOB_ID=4711\0")
    recorder = RecordingHost(LiveHost(Roots(rootfs=str(tmp_path))))
    found = NamesReader().read(recorder, sample(f"/system.slice/docker-{DOCKER}.scope", SLURM)).value
    assert found is not None
    assert (found.units, found.slurm_jobs) == ({DOCKER: "docker/llm"}, {"s5K1KKYAYG5D00": "4711"})
    (frame,) = recorder.frames()
    text = "\n".join(line_of(question, answer) for question, answer in frame.answers.items())
    assert "hunter2" not in text
    assert "4711" in text


def test_a_broken_description_is_garbled_without_being_quoted(tmp_path: Path) -> None:
    container = tmp_path / f"var/lib/docker/containers/{DOCKER}"
    container.mkdir(parents=True)
    (container / "config.v2.json").write_text('{"Config": {"Env": ["TOKEN=hunter2"')
    recorder = RecordingHost(LiveHost(Roots(rootfs=str(tmp_path))))
    outcome = NamesReader().read(recorder, sample(f"/system.slice/docker-{DOCKER}.scope"))
    assert outcome.failure is not None
    assert outcome.failure.word == "garbled"
    (frame,) = recorder.frames()
    assert "hunter2" not in outcome.failure.detail + "\n".join(map(str, frame.answers.values()))


def test_the_runtime_is_told_where_the_path_does_not() -> None:
    """The kubelet's cgroupfs driver: no prefix before the id, and the log directory names the container."""
    path = f"/kubepods/burstable/pod{uid('llm-0')}/{'a' * 64}"
    bundle = f"/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/{'a' * 64}/config.json"
    members = [f"annotations/io.kubernetes.cri.{name}" for name in ("container-type", "sandbox-namespace")]
    members += [f"annotations/io.kubernetes.cri.{name}" for name in ("sandbox-name", "container-name")]
    told = dict(zip(members, ("container", "other", "other", "other"), strict=True))
    link = f"/var/log/containers/llm-0_prod_vllm-{'a' * 64}.log"
    found = names({link: ""}, path, picked={picked(bundle, *members): told})
    assert (found.runtimes, found.containers) == ({"a" * 64: "containerd"}, {"a" * 64: LLM})
    assert names({link: ""}, path).runtimes == {}
