"""From a drift on a simulated machine to somebody's pager, through the real Prometheus and Alertmanager, and back."""

from pathlib import Path

import pytest

from deploy.demo.webhook import Alert
from tests.demo.world import DRIFTED, DRIFTS, SINGLE, World

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("world")]

DRIFT = "NumaPlacementDrift"
EXPECTED = {DRIFT, "NumaRemoteMemory", "NumaRemoteCpuTime", "NumaHostBuffersRemote", "NumaCpusetOffHome"}


def of(alerts: list[Alert], **labels: str) -> list[Alert]:
    return [alert for alert in alerts if labels.items() <= alert["labels"].items()]


def test_a_drift_pages_and_healing_resolves_it(world: World, tmp_path: Path) -> None:
    unit = {"workload": "triton.service", "dimension": "memory", "severity": "page"}
    pod = {"namespace": "inference", "workload": "mixtral-8x7b", "container": "server", "dimension": "memory"}
    for drifted in (unit, pod):
        world.until(f"page for {drifted}", lambda: of(world.alerts(DRIFT, "firing"), **drifted))  # noqa: B023  awaited here
    # The cause: it inhibits the symptoms of the same GPU, of which there may be notifications only if they were first.
    world.until("a ticket", lambda: of(world.alerts("NumaCpusetOffHome", "firing"), pod="qwen-72b-0", node=DRIFTED))
    page = of(world.alerts(DRIFT, "firing"), **pod)[0]
    assert page["labels"]["severity"] == "page"
    assert "node" not in page["labels"] and "pod" not in page["labels"]  # those change with the next restart
    assert f"on {DRIFTED}, 55% remote" in page["annotations"]["description"].replace("54.99%", "55%")
    assert {receiver for receiver, alert in world.told if alert["labels"]["severity"] == "page"} == {"page"}
    assert {receiver for receiver, alert in world.told if alert["labels"]["severity"] == "ticket"} == {"ticket"}
    others = {alert["labels"]["alertname"] for _, alert in world.told} - EXPECTED
    assert others == set()  # not even one about the exporter
    paged = {alert["labels"]["workload"] for alert in world.alerts(DRIFT, "firing")}
    assert paged == {"mixtral-8x7b", "triton.service"}  # who was always wrong has a ticket, and no drift

    healed = tmp_path / "healed.toml"
    lives = '[{ at = "-20h" }, { at = "-42m" }]'
    text = DRIFTS.read_text()
    for line in [line for line in text.splitlines() if "remote_memory" in line]:
        text = text.replace(line, f"life = {lives}")
    healed.write_text(text)
    world.replace(DRIFTED, healed)
    for drifted in (unit, pod):
        world.until(f"resolved {drifted}", lambda: of(world.alerts(DRIFT, "resolved"), **drifted))  # noqa: B023  awaited here


def test_one_node_was_silent(world: World) -> None:
    world.until("a ticket of the other machine", lambda: world.alerts("NumaRemoteMemory", "firing"))
    assert world.ask(f'numa_findings{{node="{SINGLE}",code="single_node"}}')
    assert not [alert for _, alert in world.told if alert["labels"].get("node") == SINGLE]
    assert not [alert for _, alert in world.told if alert["labels"].get("workload") == "llama-8b"]
    assert not world.ask(f'last_over_time(ALERTS{{node="{SINGLE}"}}[1h])')
