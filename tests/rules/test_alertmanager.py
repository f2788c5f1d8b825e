"""The example route by amtool, its inhibitions in a real Alertmanager on loopback that is asked what it mutes."""

import json
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from rule_test import REPOSITORY, alerts

from deploy.demo.servers import Programs
from numa_exporter.sources.table import SOURCES

CONFIG = REPOSITORY / "deploy" / "alertmanager" / "alertmanager.yaml"
PATIENCE_S = 20.0

MACHINE = {"cluster": "eu", "node": "gpu-7"}
RANK = {"namespace": "llm", "pod": "chat-0", "container": "vllm", "uuid": "GPU-1"}


@pytest.fixture(scope="module")
def amtool(need_tool: Callable[[str, str], str]) -> str:
    return need_tool("amtool", "prometheus-alertmanager")


def test_config_is_valid(amtool: str) -> None:
    done = subprocess.run([amtool, "check-config", str(CONFIG)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 inhibit rules" in done.stdout


@pytest.mark.parametrize("name", sorted(alerts()))
def test_every_alert_reaches_the_receiver_of_its_severity(amtool: str, name: str) -> None:
    labels = alerts()[name]["labels"]
    command = [amtool, "config", "routes", "test", f"--config.file={CONFIG}"]
    command += [f"--verify.receivers={labels['severity']}", f"alertname={name}", f"severity={labels['severity']}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_groups_are_per_alert_and_cluster() -> None:
    assert yaml.safe_load(CONFIG.read_text())["route"]["group_by"] == ["alertname", "cluster"]


def test_only_a_source_that_others_need_mutes_them() -> None:
    (rule,) = (
        rule
        for rule in yaml.safe_load(CONFIG.read_text())["inhibit_rules"]
        if 'alertname="NumaSourceDown"' in rule["source_matchers"]
    )
    needed = {name for source in SOURCES for name in source.needs}
    (named,) = (matcher for matcher in rule["source_matchers"] if matcher.startswith("source=~"))
    assert set(named.removeprefix("source=~").strip('"').split("|")) == needed


def test_every_alert_named_in_the_config_exists() -> None:
    words = CONFIG.read_text().replace("|", " ").replace('"', " ").split()
    named = {word for word in words if word.startswith("Numa") and word.isalpha()}
    assert named
    assert named <= alerts().keys()


@dataclass(frozen=True, slots=True)
class Alertmanager:
    """A running Alertmanager, spoken to through its public API."""

    url: str

    def ask(self, path: str, body: object = None) -> object:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=5) as answer:
            text = answer.read()
        return json.loads(text) if text.startswith((b"[", b"{")) else text

    def post(self, alerts_: list[dict[str, str]]) -> None:
        self.ask("/api/v2/alerts", [{"labels": labels} for labels in alerts_])

    def muted(self, scene: str) -> dict[str, bool]:
        """Of the alerts of one scene: label `who` to whether another alert inhibits it."""
        found = self.ask(f"/api/v2/alerts?filter=scene%3D%22{scene}%22")
        assert isinstance(found, list)
        return {alert["labels"]["who"]: bool(alert["status"]["inhibitedBy"]) for alert in found}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(scope="module")
def alertmanager(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alertmanager]:
    folder: Path = tmp_path_factory.mktemp("alertmanager")
    manager = Alertmanager(f"http://127.0.0.1:{free_port()}")
    config = folder / "alertmanager.yaml"  # ours, but for receivers where nobody can be listening
    config.write_text(CONFIG.read_text().replace("127.0.0.1:9095", "127.0.0.1:1"))
    command = [
        programs.alertmanager,
        f"--config.file={config}",
        f"--storage.path={folder}",
        "--cluster.listen-address=",
    ]
    command += [f"--web.listen-address={manager.url.removeprefix('http://')}", "--log.level=error"]
    with (folder / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            await_true(lambda: answers(manager), (folder / "log").read_text)
            yield manager
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()


def answers(manager: Alertmanager) -> bool:
    try:
        manager.ask("/-/ready")
    except OSError:
        return False
    return True


def await_true(condition: Callable[[], bool], why_not: Callable[[], object]) -> None:
    """Polls until the condition holds; a bound, not a measurement."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, why_not()
        time.sleep(0.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A cause, the alerts that it mutes and those that it must not; by a name of our own (label `who`)."""

    name: str
    cause: Mapping[str, str]
    muted: Mapping[str, Mapping[str, str]]
    heard: Mapping[str, Mapping[str, str]]


SCENES = [
    Scene(
        name="exporter-down",
        cause={"alertname": "NumaExporterDown"} | MACHINE,
        muted={
            "same machine": {"alertname": "NumaRemoteMemory"} | MACHINE | RANK,
            "same machine, page": {"alertname": "NumaGrantBroken"} | MACHINE,
        },
        heard={
            "another machine": {"alertname": "NumaRemoteMemory"} | MACHINE | RANK | {"node": "gpu-8"},
            "another cluster": {"alertname": "NumaRemoteMemory"} | MACHINE | RANK | {"cluster": "us"},
            "drift, of a workload": {"alertname": "NumaPlacementDrift", "cluster": "eu", "workload": "chat"},
            "the kubelet's hot loop": {"alertname": "NumaAdmissionHotLoop"} | MACHINE,
            "somebody else's alert": {"alertname": "NodeFilesystemFull"} | MACHINE,
        },
    ),
    Scene(
        name="plain-host-down",  # no `node`: it must not mute the other plain hosts
        cause={"alertname": "NumaExporterDown", "instance": "a:10062"},
        # Alertmanager takes in alerts in order: once the witness is muted, the first cause has been considered too.
        muted={"witness": {"alertname": "NumaReadingsStale", "cluster": "eu", "node": "gpu-4"}},
        heard={
            "cause for the witness": {"alertname": "NumaExporterDown", "cluster": "eu", "node": "gpu-4"},
            "another plain host": {"alertname": "NumaRemoteMemory", "unit": "vllm.service", "uuid": "GPU-9"},
            "drift": {"alertname": "NumaPlacementDrift", "workload": "vllm.service"},
        },
    ),
    Scene(
        name="source-down",
        cause={"alertname": "NumaSourceDown", "source": "gpus", "cluster": "eu", "node": "gpu-1"},
        muted={"its readings": {"alertname": "NumaReadingsStale", "cluster": "eu", "node": "gpu-1"}},
        heard={
            "readings elsewhere": {"alertname": "NumaReadingsStale", "cluster": "eu", "node": "gpu-2"},
            "a verdict on the same machine": {"alertname": "NumaRemoteMemory", "cluster": "eu", "node": "gpu-1"} | RANK,
        },
    ),
    Scene(
        name="side-source-down",  # nothing rests on it
        cause={"alertname": "NumaSourceDown", "source": "traffic", "cluster": "eu", "node": "gpu-5"},
        muted={"witness": {"alertname": "NumaReadingsStale", "cluster": "eu", "node": "gpu-6"}},
        heard={
            "cause for the witness": {"alertname": "NumaSourceDown", "source": "topology",
                                      "cluster": "eu", "node": "gpu-6"},
            "readings of another source": {"alertname": "NumaReadingsStale", "source": "memory",
                                           "cluster": "eu", "node": "gpu-5"},
            "coverage": {"alertname": "NumaCoverageLow", "cluster": "eu", "node": "gpu-5"},
        },
    ),
    Scene(
        name="grant-broken",
        cause={"alertname": "NumaGrantBroken", "cluster": "eu", "node": "gpu-2"} | RANK | {"uuid": ""},
        muted={"its CPUs": {"alertname": "NumaCpusetOffHome", "cluster": "eu", "node": "gpu-2"} | RANK},
        heard={
            "its memory": {"alertname": "NumaRemoteMemory", "cluster": "eu", "node": "gpu-2"} | RANK | {"uuid": "x"},
            "another pod": {"alertname": "NumaCpusetOffHome", "cluster": "eu", "node": "gpu-2"} | RANK | {"pod": "b"},
        },
    ),
    Scene(
        name="swapped",
        cause={"alertname": "NumaRanksSwapped", "cluster": "eu", "node": "gpu-3"} | RANK,
        muted={
            "its memory": {"alertname": "NumaRemoteMemory", "cluster": "eu", "node": "gpu-3"} | RANK,
            "its CPU time": {"alertname": "NumaRemoteCpuTime", "cluster": "eu", "node": "gpu-3"} | RANK,
        },
        heard={
            "another rank": {"alertname": "NumaRemoteMemory", "cluster": "eu", "node": "gpu-3"} | RANK | {"uuid": "y"},
        },
    ),
]  # fmt: skip


@pytest.mark.real
@pytest.mark.parametrize("scene", SCENES, ids=lambda s: s.name)
def test_causes_mute_their_own_symptoms_only(alertmanager: Alertmanager, scene: Scene) -> None:
    everyone = {"the cause": scene.cause, **scene.heard, **scene.muted}
    alertmanager.post([{**labels, "who": who, "scene": scene.name} for who, labels in everyone.items()])
    # All scenes stay posted: what an earlier cause mutes wrongly in a later scene shows too.
    expected = dict.fromkeys(scene.muted, True) | dict.fromkeys(scene.heard, False) | {"the cause": False}
    await_true(
        lambda: alertmanager.muted(scene.name) == expected,
        lambda: f"muted: {alertmanager.muted(scene.name)}, expected: {expected}",
    )
    assert alertmanager.muted(scene.name) == expected
