"""Two simulated machines with a past, watched by a real Prometheus and Alertmanager. One world for each release."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from deploy.demo import config, history, servers
from deploy.demo.config import Target
from deploy.demo.servers import Programs, Server
from deploy.demo.webhook import Alert, Webhook
from numa_exporter.simhost.scenario import load
from numa_exporter.simhost.timeline import Simulation
from tests.demo import foreign

PAST = 140 * 60
"""Drift's baseline asks for an hour of readings that are an hour old, and ranks are loading for a quarter of one."""
DRIFTS = Path(__file__).with_name("drifts.toml")
DRIFTED, SINGLE = "two-sockets", "one-node"


@dataclass(slots=True, kw_only=True)
class World:
    """``told``: every alert that reached the webhook, with its receiver. ``began``: when Prometheus started."""

    folder: Path
    prometheus: Server
    targets: Mapping[str, Target]
    demos: dict[str, Server]
    running: ExitStack
    told: list[tuple[str, Alert]] = field(default_factory=list)
    began: float = 0.0

    def alerts(self, name: str, status: str) -> list[Alert]:
        return [alert for _, alert in self.told if alert["labels"]["alertname"] == name and alert["status"] == status]

    def ask(self, expr: str) -> list[dict[str, Any]]:
        """An instant query, now. AssertionError where Prometheus refuses it."""
        answer = self.prometheus.get("/api/v1/query", query=expr)
        assert answer["status"] == "success", f"{expr}: {answer.get('error')}"
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    def until(self, what: str, happened: Callable[[], object], seconds: float = 240) -> None:
        """Wait for something that must come; how long it takes is the machine's business."""
        limit = time.monotonic() + seconds
        while not happened():
            assert time.monotonic() < limit, f"{what}: not within {seconds:g} s; {self.state()}"
            time.sleep(0.2)

    def state(self) -> str:
        """What a person would look at first."""
        told = sorted({(receiver, alert["labels"]["alertname"], alert["status"]) for receiver, alert in self.told})
        asked = "ALERTS", "numa:workload_remote:baseline", "min_over_time(numa:workload_remote:share[10m])"
        return "\n".join([f"told: {told}", *(f"{expr}: {self.ask(expr)}" for expr in asked)])

    def replace(self, node: str, scenario: Path) -> None:
        """The same machine goes on with another scenario."""
        self.demos[node].__exit__(None, None, None)
        self.demos[node] = self.running.enter_context(demo(self.folder, self.targets[node], str(scenario), "2m"))
        self.demos[node].wait()


def demo(folder: Path, target: Target, scenario: str, past: str, samples: Path | None = None) -> Server:
    port = int(target.url.rpartition(":")[2])
    command = [str(Path(sys.executable).parent / "numa-exporter"), "demo", "--scenario", scenario, "--past", past]
    command += [
        "--web.listen-address",
        f"127.0.0.1:{port}",
        "--interval",
        "1s",
        "--log.level",
        "error",
        "--speed",
        "60",
    ]
    if samples is not None:
        command += ["--history", str(samples)]
        command += [part for pair in target.labels.items() for part in ("--history.label", "=".join(pair))]
    return Server(command, port, folder / f"{target.node}.log")


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    nodes = {DRIFTED: str(DRIFTS), SINGLE: "single-node"}
    targets = {node: Target(url=f"http://127.0.0.1:{servers.free_port()}", node=node) for node in nodes}
    with ExitStack() as running:
        samples = {node: folder / f"{node}.om" for node in nodes}
        demos = {
            node: running.enter_context(demo(folder, targets[node], nodes[node], f"{PAST}s", samples[node]))
            for node in nodes
        }
        for server in demos.values():
            server.wait(seconds=300)
        end = time.time()
        others = folder / "others.om"
        pods = [one.pod for one in Simulation(load(str(DRIFTS)), seed=1, began=end).cast.alive(0)]
        others.write_text(foreign.history(end - PAST, end, pods=[pod for pod in pods if pod], node=DRIFTED))
        history.fill(folder / "data", [*samples.values(), others], end - PAST, end, programs)
        made = World(
            folder=folder,
            prometheus=servers.prometheus(folder / "prometheus.yml", folder / "data", servers.free_port(), programs),
            targets=targets,
            demos=demos,
            running=running,
        )
        webhook = running.enter_context(Webhook(lambda receiver, alert: made.told.append((receiver, alert))))
        route = config.alertmanager(folder, webhook.url)
        alerts = running.enter_context(servers.alertmanager(route, folder / "alerts", servers.free_port(), programs))
        config.prometheus(folder, targets.values(), alerts.url, interval=1, patience=1)
        made.began = time.time()
        running.enter_context(made.prometheus)
        alerts.wait()
        made.prometheus.wait()
        yield made
