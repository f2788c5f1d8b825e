"""Every question of a dashboard and every recording rule, put to a real Prometheus that watches the demo."""

import time

import pytest

from deploy.demo import rules
from tests.demo.world import World
from tests.grafana.dashboards import Question, questions

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("world")]


SILENT = {"numa_exporter_lock_hold_seconds_total": "a simulated machine has no locks that could be held"}


@pytest.fixture(scope="session")
def settled(world: World) -> World:
    """Rules that build on each other have all run."""
    world.until("drift", lambda: world.ask("numa:workload_drift:since"))
    world.until("its own cost", lambda: world.ask("rate(process_cpu_seconds_total[1m])"))
    world.until("roll-ups", lambda: world.ask("numa:cluster:gpu_hours:1d"))
    return world


@pytest.mark.parametrize("question", list(questions()), ids=str)
def test_a_question_has_an_answer(question: Question, settled: World) -> None:
    now = time.time()
    if question.instant and settled.ask(question.expr):
        return
    # An instant question may have nothing to answer now (GPUs whose state is unknown), but it must have had once.
    window = {"start": now - 7200, "end": now, "step": 60}
    answer = settled.prometheus.get("/api/v1/query_range", query=question.expr, **window)
    assert answer["status"] == "success", answer.get("error")
    assert answer["data"]["result"] or any(metric in question.expr for metric in SILENT), question.expr


@pytest.mark.parametrize("record", sorted({rule["record"] for rule in rules.recording_rules()}))
def test_a_recording_rule_records(record: str, settled: World) -> None:
    assert settled.ask(f"last_over_time({record}[10m])")


def test_no_rule_fails(settled: World) -> None:
    groups = settled.prometheus.get("/api/v1/rules")["data"]["groups"]
    failed = {
        rule["name"]: rule.get("lastError") for group in groups for rule in group["rules"] if rule["health"] != "ok"
    }
    assert failed == {}, failed
    assert {rule["record"] for rule in rules.recording_rules()} <= {
        rule["name"] for group in groups for rule in group["rules"]
    }
