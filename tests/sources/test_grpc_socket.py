"""The client of the kubelet's socket, against a server that says what a test wants."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from numa_exporter.formats import podresources
from numa_exporter.sources.grpc_socket import POD_RESOURCES, GrpcSocket
from numa_exporter.sources.host import HostError
from tests.kubernetes.podresources_server import DISABLED, HANG, gpu_pod, pods, serving


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kubelet.sock"


@pytest.fixture
def client(path: Path) -> Iterator[GrpcSocket]:
    made = GrpcSocket(str(path), POD_RESOURCES, "kubelet", deadline=30.0)
    yield made
    made.close()


def names(client: GrpcSocket) -> list[str]:
    return [pod.name for pod in podresources.parse_list(client.ask("List", b""), "kubelet:List")]


def refused(client: GrpcSocket, method: str = "List") -> HostError:
    with pytest.raises(HostError) as caught:
        client.ask(method, b"")
    return caught.value


def test_one_connection_serves_every_look(path: Path, client: GrpcSocket) -> None:
    with serving(path, List=pods(gpu_pod("GPU-0"))) as server:
        assert [names(client) for _ in range(3)] == [["llm-0"]] * 3
        assert server.asked == ["List"] * 3


def test_without_a_socket_it_is_absent(client: GrpcSocket) -> None:
    error = refused(client)
    assert (error.word, error.path, error.detail) == ("absent", "kubelet:List", "No such file or directory")


@pytest.mark.parametrize("switched", [["--no-source.kubelet"], ["--kubelet.root=/nonexistent"]], ids=["off", "absent"])
def test_hosts_without_a_kubelet_load_no_grpc(switched: list[str]) -> None:
    code = """
import io, sys
from contextlib import redirect_stdout
from numa_exporter.cli.main import main
with redirect_stdout(io.StringIO()):
    main(["report", "--json", "--looks=1", "--no-source.memory", *sys.argv[1:]])
print(sorted({"grpclib", "google.protobuf"} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", code, *switched], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_socket_whose_kubelet_is_down_is_gone_and_comes_back(path: Path, client: GrpcSocket) -> None:
    with serving(path, List=pods(gpu_pod("GPU-0"))) as server:
        assert names(client) == ["llm-0"]
        server.stop()
        assert refused(client).word in ("gone", "absent")
        server.script["List"] = pods(gpu_pod("GPU-1", name="llm-1"))
        server.start()
        assert names(client) == ["llm-1"]


def test_a_restart_between_two_looks_is_not_noticed(path: Path, client: GrpcSocket) -> None:
    with serving(path, List=pods(gpu_pod("GPU-0"))) as server:
        assert names(client) == ["llm-0"]
        server.stop()
        server.start()
        assert names(client) == ["llm-0"]


def test_a_stale_socket_file_is_gone(path: Path, client: GrpcSocket) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
    error = refused(client)
    assert (error.word, error.path) == ("gone", "kubelet:List")


def test_a_kubelet_that_hangs_is_stuck_at_every_look(path: Path) -> None:
    client = GrpcSocket(str(path), POD_RESOURCES, "kubelet", deadline=0.05)
    with serving(path, List=HANG):
        assert [refused(client).word for _ in range(2)] == ["stuck", "stuck"]
    client.close()


def test_an_old_kubelet_lacks_methods(path: Path, client: GrpcSocket) -> None:
    with serving(path, List=pods()):
        assert refused(client, "GetAllocatableResources").word == "absent"
        assert names(client) == []


@pytest.mark.parametrize(
    ("status", "word"),
    [
        (DISABLED, "absent"),
        (GRPCError(Status.PERMISSION_DENIED), "denied"),
        (GRPCError(Status.UNAVAILABLE), "gone"),
        (GRPCError(Status.RESOURCE_EXHAUSTED, "rejected by rate limit"), "gone"),
        (GRPCError(Status.INTERNAL, "boom"), "garbled"),
    ],
    ids=str,
)
def test_words_for_what_a_kubelet_refuses(path: Path, client: GrpcSocket, status: GRPCError, word: str) -> None:
    with serving(path, List=status):
        error = refused(client)
    assert (error.word, error.path) == (word, "kubelet:List")
    assert status.message is None or status.message in error.detail


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open every socket")
def test_a_socket_of_root_is_denied(path: Path, client: GrpcSocket) -> None:
    with serving(path, List=pods()):
        path.chmod(0o000)
        assert refused(client).word == "denied"
