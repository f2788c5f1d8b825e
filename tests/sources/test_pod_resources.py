"""List is decoded once for each pod; Get tells of pods that run though List leaves them out."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from numa_exporter.formats import podresources_pb2 as pb
from numa_exporter.formats.podresources import PodResources
from numa_exporter.model.names import PodName
from numa_exporter.sources.grpc_socket import POD_RESOURCES, GrpcSocket
from numa_exporter.sources.kubelet import KubeletReader
from numa_exporter.sources.live import LiveHost
from numa_exporter.sources.look import Look
from numa_exporter.sources.pod_resources import LEFT_OUT, PodResourcesLook
from numa_exporter.sources.replay import RecordingHost
from numa_exporter.sources.roots import Roots
from tests.fakehost import fake_host
from tests.kubernetes.grpc_server import ScriptedServer
from tests.kubernetes.podresources_server import HANG, allocatable, gpu_pod, pods, serving
from tests.sources.machines import EMPTY

EVICTED = PodName(namespace="prod", pod="evicted")
NOT_FOUND = GRPCError(Status.UNKNOWN, "pod evicted in namespace prod not found")
OFF = GRPCError(Status.UNKNOWN, "PodResources API Get method disabled")


def look_at(*described: dict[str, object], offered: str = "GPU-0") -> Look:
    replies = {
        "List": pods(*described).SerializeToString(),
        "GetAllocatableResources": allocatable(
            {"devices": [{"resource_name": "nvidia.com/gpu", "device_ids": [offered]}]}
        ).SerializeToString(),
    }
    return Look(fake_host({}, kubelet=replies))


def test_what_did_not_change_is_not_decoded_again_in_whatever_order_it_comes() -> None:
    api = PodResourcesLook()
    one, two = gpu_pod("GPU-0", name="one"), gpu_pod("GPU-1", name="two")
    first = {pod.name: pod for pod in api.pods(look_at(one, two)) or ()}
    again = {pod.name: pod for pod in api.pods(look_at(gpu_pod("GPU-2", name="two"), one)) or ()}
    assert again["one"] is first["one"]
    assert again["two"].containers[0].devices[0].ids == ("GPU-2",)
    assert [pod.name for pod in api.pods(look_at(two)) or ()] == ["two"], "one that ended is forgotten"


def test_what_can_be_given_away_is_decoded_when_it_changes() -> None:
    api = PodResourcesLook()
    first = api.allocatable(look_at())
    assert first is not None
    assert api.allocatable(look_at()) is first
    changed = api.allocatable(look_at(offered="GPU-1"))
    assert changed is not None
    assert changed.devices[0].ids == ("GPU-1",)


def test_one_pod_that_is_no_message_makes_the_answer_garbled() -> None:
    look = Look(fake_host({}, kubelet={"List": b"\x0a\x02\xff\xff"}))
    assert PodResourcesLook().pods(look) is None
    assert look.failure is not None
    assert (look.failure.word, look.failure.path) == ("garbled", "kubelet:List")


@pytest.fixture
def socket(tmp_path: Path) -> Path:
    return tmp_path / "kubelet.sock"


@pytest.fixture
def look(socket: Path) -> Iterator[Look]:
    client = GrpcSocket(str(socket), POD_RESOURCES, "kubelet", deadline=30.0)
    yield Look(LiveHost(Roots(), kubelet=client))
    client.close()


def get(request: Message) -> Message:
    assert isinstance(request, pb.GetPodResourcesRequest)
    described = gpu_pod("GPU-7", name=request.pod_name)
    return ParseDict({"pod_resources": described}, pb.GetPodResourcesResponse())


def left_out(api: PodResourcesLook, look: Look, *running: PodName) -> list[str]:
    return [pod.name for pod in api.left_out(look, [PodResources(namespace="prod", name="llm-0")], running)]


def asked(server: ScriptedServer) -> int:
    return server.asked.count("Get")


def test_a_pod_that_is_listed_is_not_asked_for(socket: Path, look: Look) -> None:
    with serving(socket, Get=get) as server:
        assert left_out(PodResourcesLook(), look, PodName(namespace="prod", pod="llm-0"), EVICTED) == ["evicted"]
        assert asked(server) == 1


def test_a_few_at_a_time(socket: Path, look: Look) -> None:
    running = [PodName(namespace="prod", pod=f"p{number}") for number in range(9)]
    with serving(socket, Get=get):
        assert len(left_out(PodResourcesLook(), look, *running)) == LEFT_OUT


def test_a_pod_that_ended_is_no_failure(socket: Path, look: Look) -> None:
    with serving(socket, Get=NOT_FOUND):
        assert left_out(PodResourcesLook(), look, EVICTED) == []
    assert look.failures.counts == {}


@pytest.mark.parametrize("refusal", [GRPCError(Status.UNIMPLEMENTED), OFF], ids=["old", "off"])
def test_a_kubelet_without_get_is_asked_once_until_it_restarts(socket: Path, look: Look, refusal: GRPCError) -> None:
    api = PodResourcesLook()
    with serving(socket, List=pods(), Get=refusal) as server:
        assert [left_out(api, look, EVICTED) for _ in range(2)] == [[], []]
        assert (asked(server), look.failures.counts) == (1, {})
        server.stop()
        assert api.pods(look) is None
        server.script["Get"] = get
        server.start()
        assert left_out(api, look, EVICTED) == ["evicted"]


def test_a_get_that_is_refused_is_told(socket: Path, look: Look) -> None:
    with serving(socket, Get=GRPCError(Status.PERMISSION_DENIED)) as server:
        assert left_out(PodResourcesLook(), look, EVICTED, PodName(namespace="prod", pod="other")) == []
        assert asked(server) == 1
    assert look.failures.counts == {"denied": 1}


def test_the_reader_asks_for_a_pod_with_a_cgroup_and_a_log_directory(tmp_path: Path, socket: Path) -> None:
    """Evicted: its cgroup and its logs are there, List has only the active one."""
    root = tmp_path / "root"
    for name, uid in (("evicted", "aaaa-1"), ("llm-0", "bbbb-2"), ("long-gone", "cccc-3")):
        (root / f"var/log/pods/prod_{name}_{uid}").mkdir(parents=True)
    for uid in ("aaaa-1", "bbbb-2"):
        (root / f"sys/fs/cgroup/kubepods/pod{uid}").mkdir(parents=True)
    (root / "proc/1").mkdir(parents=True)
    (root / "proc/1/mountinfo").write_text("31 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    client = GrpcSocket(str(socket), POD_RESOURCES, "kubelet", deadline=30.0)
    with serving(socket, List=pods(gpu_pod("GPU-0")), Get=get) as server:
        recorder = RecordingHost(LiveHost(Roots(rootfs=str(root)), kubelet=client))
        found = KubeletReader().read(recorder, EMPTY).value
        assert server.asked == ["List", "GetAllocatableResources", "Get"]
    client.close()
    assert found is not None
    assert found.living == {"aaaa-1", "bbbb-2"}
    assert [pod.name for pod in found.pods or ()] == ["llm-0", "evicted"]


def test_a_kubelet_that_hangs_in_get_is_stuck(socket: Path) -> None:
    client = GrpcSocket(str(socket), POD_RESOURCES, "kubelet", deadline=0.05)
    with serving(socket, Get=HANG):
        look = Look(LiveHost(Roots(), kubelet=client))
        assert left_out(PodResourcesLook(), look, EVICTED) == []
    client.close()
    assert look.failures.counts == {"stuck": 1}
