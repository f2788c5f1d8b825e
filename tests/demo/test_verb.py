"""The verb itself: refusals, and that everything it shows is marked as simulated."""

import json
import sys
import urllib.request
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from deploy.demo import servers
from numa_exporter.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--scenario nps5", "--scenario: nps5: no such scenario; there are"),
        ("--scenario nowhere.toml", "--scenario: nowhere.toml: No such file or directory"),
        ("--speed 0", "--speed: expected a number from 1 on, found '0'"),
        ("--past soon", "--past: expected a positive duration"),
        ("--fleet 2 --history x.om", "--history: of one machine only, not of a --fleet"),
        ("--history.label node", "--history.label: expected NAME=VALUE, found 'node'"),
        ("--past 30s --history /nowhere/x.om", "--history: /nowhere/x.om: No such file or directory"),
    ],
)
def test_what_is_wrong_is_one_line(arguments: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(["demo", *arguments.split()])
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else -1
    told = capsys.readouterr()
    assert (status, told.out, told.err.count("\n")) == (2, "", 1)
    assert said in told.err


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[servers.Server, Path]]:
    folder = tmp_path_factory.mktemp("demo")
    port = servers.free_port()
    command = [str(Path(sys.executable).parent / "numa-exporter"), "demo", "--scenario", "single-node", "--past", "4m"]
    command += ["--web.listen-address", f"127.0.0.1:{port}", "--history", str(folder / "history.om")]
    command += ["--history.label", "node=there"]
    with servers.Server(command, port, folder / "demo.log") as server:
        server.wait(seconds=120)
        yield server, folder / "history.om"


def read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return str(answer.read().decode())


def test_it_is_marked_as_simulated_everywhere(demo: tuple[servers.Server, Path]) -> None:
    server, _ = demo
    assert 'numa_exporter_host_info{cgroup="v2",kernel="6.8.0-demo",mode="simulated"} 1.0' in read(
        f"{server.url}/metrics"
    )
    report = json.loads(read(f"{server.url}/api/v1/report"))
    assert (report["mode"], report["host"]["nodename"]) == ("simulated", "simulated-single-node")
    assert "simulated" in read(f"{server.url}/").lower()


def test_the_history_ends_where_the_clock_is(demo: tuple[servers.Server, Path]) -> None:
    _, history = demo
    *lines, last = history.read_text().splitlines()
    assert last == "# EOF"
    ups = [line for line in lines if line.startswith("up{")]
    assert {line.partition(" ")[0] for line in ups} == {'up{node="there"}'}
    stamps = [float(line.split()[-1]) for line in ups]
    steps = [round(later - earlier) for earlier, later in pairwise(stamps)]
    assert steps[:-1] == [60] * len(steps[:-1]) and 0 <= steps[-1] <= 60
    assert any(line.startswith("numa_rank_misalignment_ratio{") and 'node="there"' in line for line in lines)
