"""Names by the runtime's CRI socket: only where a person said so, and only for what no file tells."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from google.protobuf.message import Message
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from numa_exporter.bundle.members import line_of
from numa_exporter.formats import cri
from numa_exporter.formats import cri_pb2 as pb
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.model.names import Names
from numa_exporter.model.recording import Recording
from numa_exporter.sources.grpc_socket import CRI, GrpcSocket
from numa_exporter.sources.live import LiveHost
from numa_exporter.sources.names import NamesReader
from numa_exporter.sources.replay import RecordingHost, ReplayHost
from numa_exporter.sources.roots import Roots
from numa_exporter.sources.source import Outcome
from tests.kubernetes.grpc_server import HANG, Methods, Script, serving
from tests.kubernetes.machines import cgroup_path, container_id, uid
from tests.sources.test_names import LLM, sample

METHODS: Methods = {"ListContainers": (pb.ListContainersRequest, pb.ListContainersResponse)}
NAMED = {cri.NAMESPACE: "prod", cri.POD: "llm-0", cri.CONTAINER: "vllm"}
LLM_ID = container_id("llm-0")


class Runtime:
    """Answers as containerd does: by a prefix of the id."""

    def __init__(self, containers: Mapping[str, Mapping[str, str]]) -> None:
        self.containers = containers
        self.ids: list[str] = []

    def __call__(self, request: Message) -> Message:
        assert isinstance(request, pb.ListContainersRequest)
        self.ids.append(request.filter.id)
        return pb.ListContainersResponse(
            containers=[
                pb.Container(id=own, labels=labels)
                for own, labels in self.containers.items()
                if own.startswith(request.filter.id)
            ]
        )


@pytest.fixture
def socket(tmp_path: Path) -> Path:
    return tmp_path / "containerd.sock"


@pytest.fixture
def client(socket: Path) -> Iterator[GrpcSocket]:
    made = GrpcSocket(str(socket), CRI, "cri", deadline=30.0)
    yield made
    made.close()


def host(tmp_path: Path, client: GrpcSocket) -> LiveHost:
    """Its file system is empty: nothing else names a container."""
    (tmp_path / "root").mkdir(exist_ok=True)
    return LiveHost(Roots(rootfs=str(tmp_path / "root")), runtime=client)


def read(reader: NamesReader, tmp_path: Path, client: GrpcSocket, *cgroups: str) -> Outcome[Names]:
    return reader.read(host(tmp_path, client), sample(*(cgroups or (cgroup_path("llm-0"),))))


def names(outcome: Outcome[Names]) -> Names:
    assert outcome.value is not None
    return outcome.value


def test_it_names_what_no_file_names_with_one_question(tmp_path: Path, socket: Path, client: GrpcSocket) -> None:
    runtime, reader = Runtime({LLM_ID: NAMED}), NamesReader(asks_runtime=True)
    with serving(socket, CRI, METHODS, {"ListContainers": runtime}):
        for _ in range(3):
            outcome = read(reader, tmp_path, client)
            assert (outcome.failure, names(outcome).containers) == (None, {LLM_ID: LLM})
    assert runtime.ids == [LLM_ID]


def test_it_is_not_asked_unless_switched_on(tmp_path: Path, socket: Path, client: GrpcSocket) -> None:
    runtime = Runtime({LLM_ID: NAMED})
    (tmp_path / f"root/var/log/pods/prod_web-0_{uid('web-0')}").mkdir(parents=True)
    with serving(socket, CRI, METHODS, {"ListContainers": runtime}):
        assert names(read(NamesReader(), tmp_path, client)).containers == {}
    assert runtime.ids == []


def test_what_a_file_names_is_not_asked_for(tmp_path: Path, socket: Path, client: GrpcSocket) -> None:
    (tmp_path / f"root/var/log/pods/prod_llm-0_{uid('llm-0')}/vllm").mkdir(parents=True)
    other, runtime = container_id("web-0"), Runtime({})
    with serving(socket, CRI, METHODS, {"ListContainers": runtime}):
        cgroups = (cgroup_path("llm-0"), cgroup_path("web-0"), "/system.slice/docker-" + "d" * 64 + ".scope")
        assert names(read(NamesReader(asks_runtime=True), tmp_path, client, *cgroups)).containers == {LLM_ID: LLM}
    assert runtime.ids == [other]


def test_a_container_that_it_does_not_know_is_asked_for_once(tmp_path: Path, socket: Path, client: GrpcSocket) -> None:
    (tmp_path / f"root/var/log/pods/prod_web-0_{uid('web-0')}").mkdir(parents=True)
    # The prefix names another; labels that nobody gave are no name.
    runtime, reader = Runtime({LLM_ID + "0": NAMED}), NamesReader(asks_runtime=True)
    with serving(socket, CRI, METHODS, {"ListContainers": runtime}):
        assert [names(read(reader, tmp_path, client)).containers for _ in range(2)] == [{}, {}]
        assert runtime.ids == [LLM_ID]
        runtime.containers = {LLM_ID: NAMED}
        read(reader, tmp_path, client, "/system.slice/vllm.service")  # it ended
        assert names(read(reader, tmp_path, client)).containers == {LLM_ID: LLM}


@pytest.mark.parametrize(
    ("script", "word"),
    [
        ({}, "absent"),
        ({"ListContainers": GRPCError(Status.PERMISSION_DENIED, "no")}, "denied"),
        ({"ListContainers": GRPCError(Status.UNAVAILABLE, "starting")}, "gone"),
        ({"ListContainers": GRPCError(Status.INTERNAL, "boom")}, "garbled"),
    ],
    ids=["unimplemented", "denied", "unavailable", "internal"],
)
def test_refusals_are_told_and_asked_for_again(
    tmp_path: Path, socket: Path, client: GrpcSocket, script: Mapping[str, Script], word: str
) -> None:
    reader = NamesReader(asks_runtime=True)
    with serving(socket, CRI, METHODS, script) as server:
        outcome = read(reader, tmp_path, client, cgroup_path("llm-0"), cgroup_path("web-0"))
        assert outcome.failure is not None
        assert (outcome.failure.word, outcome.failure.path) == (word, "cri:ListContainers")
        assert server.asked == ["ListContainers"]  # not once more for the second container
        server.script["ListContainers"] = Runtime({LLM_ID: NAMED})
        assert names(read(reader, tmp_path, client)).containers == {LLM_ID: LLM}


def test_a_socket_that_is_not_there_is_told(tmp_path: Path, client: GrpcSocket) -> None:
    outcome = read(NamesReader(asks_runtime=True), tmp_path, client)
    assert outcome.failure is not None
    assert (outcome.failure.word, outcome.failure.path) == ("absent", "cri:ListContainers")


def test_a_runtime_that_hangs_is_stuck_and_costs_one_deadline(tmp_path: Path, socket: Path) -> None:
    client = GrpcSocket(str(socket), CRI, "cri", deadline=0.05)
    with serving(socket, CRI, METHODS, {"ListContainers": HANG}) as server:
        outcome = read(NamesReader(asks_runtime=True), tmp_path, client, cgroup_path("llm-0"), cgroup_path("web-0"))
        assert server.asked == ["ListContainers"]
    client.close()
    assert outcome.failure is not None
    assert outcome.failure.word == "stuck"


def test_a_recording_holds_names_and_no_annotation(tmp_path: Path, socket: Path, client: GrpcSocket) -> None:
    recorder = RecordingHost(host(tmp_path, client))
    labels = {**NAMED, "team": "hunter2"}
    with serving(socket, CRI, METHODS, {"ListContainers": Runtime({LLM_ID: labels})}):
        live = NamesReader(asks_runtime=True).read(recorder, sample(cgroup_path("llm-0")))
    (frame,) = recorder.frames()
    assert "hunter2" not in "\n".join(line_of(question, answer) for question, answer in frame.answers.items())
    replayed = ReplayHost(Recording(nodename="n", simulated=False, exporter="t", frames=(frame,), settings={}))
    assert NamesReader(asks_runtime=True).read(replayed, sample(cgroup_path("llm-0"))).value == live.value


def test_bytes_that_are_no_message_are_garbled() -> None:
    with pytest.raises(ParseError):
        cri.parse(b"\xff\xff", "cri:ListContainers")
