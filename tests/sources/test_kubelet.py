"""What the kubelet's files and socket say, and the words for what they do not."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from numa_exporter.cli import flags
from numa_exporter.cli.main import parser
from numa_exporter.model.health import FailureWord
from numa_exporter.model.kubelet import Kubelet
from numa_exporter.model.recording import Recording, Refusal
from numa_exporter.sources.grpc_socket import POD_RESOURCES, GrpcSocket
from numa_exporter.sources.host import HostError
from numa_exporter.sources.kubelet import KubeletReader
from numa_exporter.sources.live import LiveHost
from numa_exporter.sources.replay import RecordingHost, ReplayHost
from numa_exporter.sources.roots import Roots
from numa_exporter.sources.source import Outcome
from tests.fakehost import DENIED, Files, fake_host
from tests.kubernetes.podresources_server import allocatable, gpu_pod, pods, serving
from tests.sources.machines import EMPTY

V2 = {"/proc/1/mountinfo": "31 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"}
ROOT = "/var/lib/kubelet"
CPU = f"{ROOT}/cpu_manager_state"
DEVICES = f"{ROOT}/device-plugins/kubelet_internal_checkpoint"
STATIC = '{"policyName":"static","defaultCpuSet":"0,4-27","entries":{"uid-1":{"app":"1-3"}},"checksum":1}'
CHECKPOINT = json.dumps(
    {
        "Data": {
            "PodDeviceEntries": [
                {
                    "PodUID": "uid-1",
                    "ContainerName": "app",
                    "ResourceName": "nvidia.com/gpu",
                    "DeviceIDs": {"0": ["GPU-0"]},
                }
            ],
            "RegisteredDevices": {"nvidia.com/gpu": ["GPU-0", "GPU-1"]},
        },
        "Checksum": 1,
    }
)
CONFIG = "kind: KubeletConfiguration\ntopologyManagerPolicy: restricted\ncpuManagerPolicy: static\n"


def read(files: Files, **doors: object) -> Outcome[Kubelet]:
    return KubeletReader().read(fake_host({**V2, **files}, **doors), EMPTY)  # type: ignore[arg-type]


def value(files: Files, **doors: object) -> Kubelet:
    found = read(files, **doors).value
    assert found is not None
    return found


def test_a_host_without_a_kubelet_is_absent() -> None:
    with pytest.raises(HostError) as caught:
        read({})
    assert caught.value.word == "absent"


def test_files_and_socket() -> None:
    replies = {
        "List": pods(gpu_pod("GPU-0")).SerializeToString(),
        "GetAllocatableResources": allocatable(
            {"devices": [{"resource_name": "nvidia.com/gpu", "device_ids": ["GPU-0"]}], "cpu_ids": [1, 2]}
        ).SerializeToString(),
    }
    outcome = read({CPU: STATIC, DEVICES: CHECKPOINT}, kubelet=replies)
    assert outcome.failure is None
    found = outcome.value
    assert found is not None
    assert found.cpu is not None
    assert (found.cpu.policy, found.cpu.grants[0].cpus) == ("static", {1, 2, 3})
    assert found.devices is not None
    assert found.devices.registered == {"nvidia.com/gpu": ("GPU-0", "GPU-1")}
    assert found.pods is not None
    assert found.pods[0].containers[0].devices[0].ids == ("GPU-0",)
    assert found.allocatable is not None
    assert found.allocatable.cpus == {1, 2}


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (STATIC[:40], "garbled"),
        ("", "garbled"),
        ('{"policyName":"static","defaultCpuSet":"0-","entries":{}}', "garbled"),
        ('{"policyName":"static","entries":[1]}', "garbled"),
        ('{"version":9,"blob":"?"}', "garbled"),
        (DENIED, "denied"),
    ],
)
def test_a_state_file_that_is_half_written_unknown_or_denied_fails_alone(
    content: str | Refusal, word: FailureWord
) -> None:
    outcome = read({CPU: content, DEVICES: CHECKPOINT})
    assert outcome.failure is not None
    assert (outcome.failure.word, outcome.failure.path) == (word, CPU)
    assert outcome.counts == {word: 1}
    assert outcome.value is not None
    assert outcome.value.cpu is None
    assert outcome.value.devices is not None


def test_everything_denied_is_denied_and_not_absent() -> None:
    outcome = read({CPU: DENIED, DEVICES: DENIED})
    assert outcome.failure is not None
    assert outcome.failure.word == "denied"


@pytest.mark.parametrize(
    ("word", "shown"), [("gone", "gone"), ("stuck", "stuck"), ("denied", "denied"), ("absent", None)]
)
def test_a_socket_that_does_not_answer_leaves_the_files(word: str, shown: str | None) -> None:
    refused = Refusal(word=word, detail="?")
    outcome = read({CPU: STATIC}, kubelet={"List": refused, "GetAllocatableResources": refused})
    assert (outcome.failure and outcome.failure.word) == shown
    assert outcome.value is not None
    assert outcome.value.cpu is not None
    assert outcome.value.pods is None


def test_an_answer_that_is_no_protobuf_is_garbled() -> None:
    outcome = read({CPU: STATIC}, kubelet={"List": b"\x0a\xff"})
    assert outcome.failure is not None
    assert (outcome.failure.word, outcome.failure.path) == ("garbled", "kubelet:List")


def test_the_config_file() -> None:
    found = value({CPU: STATIC, f"{ROOT}/config.yaml": CONFIG})
    assert found.config is not None
    assert found.config.topology_manager_policy == "restricted"
    assert found.config.topology_manager_scope is None, "a flag may set what the file does not"
    assert found.config_path == f"{ROOT}/config.yaml"


def unit(*arguments: str, pid: int = 42) -> Mapping[str, str]:
    return {
        "/sys/fs/cgroup/system.slice/kubelet.service/cgroup.procs": f"{pid}\n",
        f"/proc/{pid}/cmdline": "\0".join(("/usr/bin/kubelet", *arguments)) + "\0",
    }


def test_flags_beat_the_file_and_what_nobody_sets_is_the_default() -> None:
    arguments = ("--config=/etc/k.yaml", "--topology-manager-policy", "single-numa-node", "--v=2")
    found = value({CPU: STATIC, "/etc/k.yaml": CONFIG, **unit(*arguments)})
    assert found.config is not None
    assert found.config.topology_manager_policy == "single-numa-node"
    assert found.config.topology_manager_scope == "container"
    assert found.config.memory_manager_policy == "None"
    assert found.config_path == "/etc/k.yaml"


def test_drop_ins_beat_the_file_in_their_order() -> None:
    kind = "kind: KubeletConfiguration\n"
    files = {
        "/etc/k.yaml": CONFIG,
        "/etc/k.d/20.conf": f"{kind}topologyManagerPolicy: best-effort\n",
        "/etc/k.d/10.conf": f"{kind}topologyManagerPolicy: none\ntopologyManagerScope: pod\n",
        "/etc/k.d/readme.txt": "?",
    }
    found = value({CPU: STATIC, **files, **unit("--config=/etc/k.yaml", "--config-dir=/etc/k.d")})
    assert found.config is not None
    assert (found.config.topology_manager_policy, found.config.topology_manager_scope) == ("best-effort", "pod")


def test_a_kubelet_inside_of_another_process_is_not_asked_for_flags() -> None:
    hidden = {"/sys/fs/cgroup/system.slice/kubelet.service/cgroup.procs": "7\n", "/proc/7/cmdline": "k3s\0--token\0x\0"}
    assert value({CPU: STATIC, **hidden}).config is None


SLICE = "/sys/fs/cgroup/kubepods.slice"


@pytest.mark.parametrize(
    "folders",
    [
        (
            f"{SLICE}/kubepods-podaaaa_1.slice",
            f"{SLICE}/kubepods-burstable.slice/kubepods-burstable-podbbbb_2.slice",
            f"{SLICE}/kubepods-besteffort.slice/kubepods-besteffort-podcccc_3.slice",
        ),
        (
            "/sys/fs/cgroup/kubepods/podaaaa-1",
            "/sys/fs/cgroup/kubepods/burstable/podbbbb-2",
            "/sys/fs/cgroup/kubepods/besteffort/podCCCC-3",
        ),
        (
            "/sys/fs/cgroup/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-podaaaa_1.slice",
            "/sys/fs/cgroup/kubelet/kubepods/podbbbb-2",
            "/sys/fs/cgroup/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice"
            "/kubelet-kubepods-besteffort-podcccc_3.slice",
        ),
    ],
    ids=["systemd", "cgroupfs", "kind"],
)
def test_pods_that_live_have_a_cgroup(folders: tuple[str, ...]) -> None:
    files = {f"{folder}/cgroup.procs": "" for folder in folders}
    assert value({CPU: STATIC, **files}).living == {"aaaa-1", "bbbb-2", "cccc-3"}


def test_where_pods_cgroups_are_not_found_nobody_is_called_dead() -> None:
    assert value({CPU: STATIC}).living is None


def test_a_node_without_pods_has_none_that_live() -> None:
    assert value({CPU: STATIC, f"{SLICE}/cpuset.cpus.effective": "0-3\n"}).living == frozenset()


def live(root: Path, socket: Path) -> LiveHost:
    return LiveHost(Roots(rootfs=str(root)), kubelet=GrpcSocket(str(socket), POD_RESOURCES, "kubelet", deadline=30.0))


def test_a_real_socket_with_110_pods_recorded_and_replayed(tmp_path: Path) -> None:
    state = tmp_path / "root/var/lib/kubelet"
    state.mkdir(parents=True)
    (state / "cpu_manager_state").write_text(STATIC)
    described = [gpu_pod(f"GPU-{number}", name=f"pod-{number}", cpus=(number,)) for number in range(110)]
    socket = tmp_path / "kubelet.sock"
    with serving(socket, List=pods(*described)) as server:
        recorder = RecordingHost(live(tmp_path / "root", socket))
        outcome = KubeletReader().read(recorder, EMPTY)
        assert server.asked == ["List", "GetAllocatableResources"], "once each"
    assert outcome.failure is None
    assert outcome.value is not None
    assert outcome.value.pods is not None
    assert len(outcome.value.pods) == 110
    recording = Recording(nodename="n", simulated=False, exporter="t", frames=tuple(recorder.frames()), settings={})
    assert KubeletReader().read(ReplayHost(recording), EMPTY) == outcome


def test_another_folder(tmp_path: Path) -> None:
    """It moves the files and the socket, whose path may not be longer than 107 characters."""
    root = tmp_path / "k0s"
    (root / "pod-resources").mkdir(parents=True)
    (root / "device-plugins").mkdir()
    (root / "cpu_manager_state").write_text(STATIC)
    (root / "memory_manager_state").write_text('{"policyName":"Static","machineState":{},"checksum":1}')
    (root / "device-plugins/kubelet_internal_checkpoint").write_text(CHECKPOINT)
    (root / "config.yaml").write_text(CONFIG)
    args = parser().parse_args(["report", f"--kubelet.root={root}/"])
    with serving(root / "pod-resources/kubelet.sock", List=pods(gpu_pod("GPU-0"))):
        settings = flags.settings(args, {})
        recorder = RecordingHost(flags.open_host(args).host)
        outcome = KubeletReader(settings.kubelet_root).read(recorder, EMPTY)
    found = outcome.value
    assert found is not None
    assert None not in (found.cpu, found.memory, found.devices, found.pods)
    assert (found.config is not None, found.config_path) == (True, f"{root}/config.yaml")
    # A bundle says where it was, so that a replay looks there.
    replayed = flags.settings(parser().parse_args(["report"]), flags.recorded_settings(settings))
    assert replayed.kubelet_root == str(root)


def test_a_kubelet_that_restarts_between_looks(tmp_path: Path) -> None:
    state = tmp_path / "root/var/lib/kubelet"
    state.mkdir(parents=True)
    (state / "cpu_manager_state").write_text(STATIC)
    socket = tmp_path / "kubelet.sock"
    reader = KubeletReader()
    with serving(socket, List=pods(gpu_pod("GPU-0"))) as server:
        host = live(tmp_path / "root", socket)
        words = []
        for step in (None, server.stop, socket.unlink, server.start):
            if step is not None:
                step()
            outcome = reader.read(host, EMPTY)
            assert outcome.value is not None
            assert outcome.value.cpu is not None
            words.append((outcome.failure and outcome.failure.word, outcome.value.pods is not None))
    assert words == [(None, True), ("gone", False), (None, False), (None, True)]
