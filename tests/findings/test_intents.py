"""Deliberate exceptions are shown as such, never dropped."""

import pytest

from numa_exporter.findings.intents import Intent
from numa_exporter.model.ids import WorkloadKey
from numa_exporter.model.report import Suppression
from tests.builders import GIB, NOON, sample, task, two_socket
from tests.findings.machines import CASES, cgroup
from tests.findings.watch import Script, last, of, under

DAY = 86_400.0
ELSEWHERE = frozenset({1})


def test_a_code_is_suppressed_with_its_reason() -> None:
    intent = Intent(reason="known", unit="vllm*", codes=frozenset({"memory_remote"}), until=NOON + DAY)
    (found,) = of(last(CASES["memory_remote"].fires, intents=(intent,)), "memory_remote")
    assert found.suppressed == Suppression(reason="known", until="2026-02-01")
    assert found.level == "warning"


def test_the_verdict_stays() -> None:
    intent = Intent(reason="known", codes=frozenset({"memory_remote"}))
    judged = last(CASES["memory_remote"].fires, intents=(intent,))
    assert any(row["memory"].misaligned for row in judged.verdicts.values())


@pytest.mark.parametrize(
    "intent",
    [
        Intent(reason="another", unit="sglang*", codes=frozenset({"memory_remote"})),
        Intent(reason="a pod", pod="*", codes=frozenset({"memory_remote"})),
        Intent(reason="another code", codes=frozenset({"cpu_remote"})),
        Intent(reason="expected at home", home=frozenset({0})),
    ],
    ids=lambda intent: intent.reason,
)
def test_what_it_does_not_cover(intent: Intent) -> None:
    (found,) = of(last(CASES["memory_remote"].fires, intents=(intent,)), "memory_remote")
    assert found.suppressed is None


def test_an_expired_one_covers_nothing_and_is_said() -> None:
    intent = Intent(reason="until the new machines", codes=frozenset({"memory_remote"}), until=NOON - 10 * DAY)
    (found,) = of(last(CASES["memory_remote"].fires, intents=(intent,)), "memory_remote")
    assert found.suppressed is None
    assert found.remedy_note is not None
    assert found.remedy_note.endswith("The exception for it (until the new machines) ended with 2026-01-21.")


def there(at: float) -> object:
    rank = under(task(1, gpus="GPU-0", mapped={"anon": {0: GIB // 2, 1: 4 * GIB}}, cpu={1: at}), "bind:1")
    return sample(two_socket(), rank, at=at, cgroups=(cgroup("16-31", ELSEWHERE),))


def half_there(at: float) -> object:
    return sample(two_socket(), task(1, gpus="GPU-0", mapped={"anon": {0: 2 * GIB, 1: 2 * GIB}}), at=at)


def test_a_workload_that_is_where_it_is_expected() -> None:
    judged = last(there, intents=(Intent(reason="its NIC is there", home=ELSEWHERE),))  # type: ignore[arg-type]
    warnings = {finding.code: finding.suppressed for finding in judged.findings if finding.level == "warning"}
    expected = ("memory_remote", "cpu_remote", "cpuset_off_home", "policy_off_home")
    assert warnings == dict.fromkeys(expected, Suppression(reason="its NIC is there"))


def test_a_workload_that_is_only_half_there() -> None:
    judged = last(half_there, intents=(Intent(reason="its NIC is there", home=ELSEWHERE),))  # type: ignore[arg-type]
    assert [finding.suppressed for finding in of(judged, "memory_remote")] == [None]


def test_only_an_intent_without_selector_is_about_the_machine() -> None:
    balancing: Script = CASES["numa_balancing_on"].fires
    codes = frozenset({"numa_balancing_on"})
    for intent, reason in (
        (Intent(reason="meant", codes=codes), Suppression(reason="meant")),
        (Intent(reason="x", unit="*", codes=codes), None),
    ):
        (found,) = of(last(balancing, 0, intents=(intent,)), "numa_balancing_on")
        assert found.suppressed == reason


def test_selectors() -> None:
    pod = WorkloadKey(namespace="prod", pod="llm-0", container="vllm")
    assert Intent(reason="-", namespace="prod", pod="llm-*").selects(pod)
    assert not Intent(reason="-", namespace="prod", container="sidecar").selects(pod)
    assert Intent(reason="-").selects(pod)
    assert not Intent(reason="-", pod="llm-*").selects(WorkloadKey(unit="llm-0"))
