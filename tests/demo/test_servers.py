"""`make demo` when something is in its way: a taken port, a server that dies, one line each."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from deploy.demo import __main__ as make_demo
from deploy.demo import servers
from deploy.demo.servers import Server, ServerError
from deploy.demo.webhook import Notifications
from numa_exporter.cli.demo import unfolding
from numa_exporter.simhost.scenario import load


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def test_a_taken_port_is_told_before_anything_starts(taken: int, tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=f"^true: port {taken} is taken$"), Server(["true"], taken, tmp_path / "log"):
        pass
    assert not (tmp_path / "log").exists()


def test_a_child_that_died_is_noticed_with_its_last_words(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('one'); print('no disk left'); print(); exit(3)"]
    died = pytest.raises(ServerError, match=r"^python\S* ended with status 3: no disk left$")
    with Server(command, servers.free_port(), tmp_path / "log") as server, died:
        server.wait()


def test_a_child_that_never_answers(tmp_path: Path) -> None:
    silent = pytest.raises(ServerError, match=r"^sleep has not answered at http\S+ for 0 s: it said nothing$")
    with Server(["sleep", "60"], servers.free_port(), tmp_path / "log") as server, silent:
        server.wait(seconds=0)


def test_make_demo_ends_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> NoReturn:
        raise ServerError("prometheus: port 9090 is taken")

    monkeypatch.setattr(make_demo, "_run", fail)
    monkeypatch.setattr(servers, "installed", lambda: True)
    monkeypatch.setattr(make_demo.signal, "signal", lambda *_: None)
    with pytest.raises(SystemExit) as ended:
        make_demo.main()
    assert ended.value.code == "make demo: prometheus: port 9090 is taken"


@pytest.mark.parametrize(
    ("labels", "end"),
    [({"uuid": "GPU-b"}, " far (GPU 5)"), ({"uuid": "GPU-gone"}, " far (GPU GPU-gone)"), ({}, " far")],
)
def test_two_alerts_of_a_workload_are_told_apart(labels: dict[str, str], end: str) -> None:
    said = Notifications({"gpus": [{"uuid": "GPU-a", "index": 4}, {"uuid": "GPU-b", "index": 5}]})
    alert = {
        "status": "firing",
        "labels": {"alertname": "NumaRemoteMemory", **labels},
        "annotations": {"summary": "qwen keeps 100% of its memory far"},
    }
    assert said.line("ticket", alert) == "ticket  firing    NumaRemoteMemory: qwen keeps 100% of its memory" + end


def test_when_the_drift_will_be_seen() -> None:
    told = load("two-socket-eight-gpu")
    assert unfolding(told, told.past, 30) == (
        "40 min go by first, 30 times as fast; what changes in them shows in about 32 s."
    )
    aligned = load("aligned")
    assert unfolding(aligned, aligned.past, 30) is None
