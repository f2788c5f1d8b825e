"""Each finding fires on one machine and is silent on a near miss; and what holds of every text."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from numa_exporter.findings import FINDINGS
from numa_exporter.findings.docs import markdown
from numa_exporter.findings.rule import Rule
from numa_exporter.model.report import Finding
from tests.builders import gpu, task, topology, two_socket
from tests.findings.machines import CASES, cgroup, steadily
from tests.findings.watch import last, of, watch

BY_CODE = pytest.mark.parametrize("rule", FINDINGS, ids=lambda rule: rule.code)
PROMISES = re.compile(r"faster|speed.?up|accelerat|improve|gain|more tokens|lower latency|throughput", re.IGNORECASE)
FORBIDDEN = re.compile(r"--preferred|zone_reclaim|migratepages", re.IGNORECASE)


def fired(rule: Rule) -> list[Finding]:
    return of(last(CASES[rule.code].fires), rule.code)


@BY_CODE
def test_it_fires(rule: Rule) -> None:
    found = fired(rule)
    assert found, f"{rule.code} is silent on its machine"
    assert all(finding.level in rule.levels for finding in found)
    assert len({finding.subject for finding in found}) == len(found), "one finding a subject"


@BY_CODE
def test_it_is_silent_on_the_near_miss(rule: Rule) -> None:
    judged = watch(CASES[rule.code].silent)
    assert not [finding.sentence for one in judged for finding in of(one, rule.code)]


@BY_CODE
def test_one_sentence_names_its_subject(rule: Rule) -> None:
    for finding in fired(rule):
        assert finding.sentence.endswith(".")
        assert not re.search(r"\.\s+[A-Z]", finding.sentence), "one sentence"
        assert "None" not in finding.sentence
    first = fired(rule)[0].sentence
    assert all(name in first for name in CASES[rule.code].names), first


@BY_CODE
def test_evidence_stands_in_a_file(rule: Rule) -> None:
    for finding in fired(rule):
        assert finding.since is not None
        for line in finding.evidence:
            assert line.path.startswith(("/proc/", "/sys/", "/var/lib/kubelet/"))
            assert line.line
            assert "\n" not in line.line


@BY_CODE
def test_no_text_promises_or_harms(rule: Rule) -> None:
    for finding in fired(rule):
        text = " ".join(filter(None, (finding.sentence, finding.remedy, finding.remedy_note)))
        assert not PROMISES.search(text), text
        assert not FORBIDDEN.search(text), text
        if "--membind" in (finding.remedy or ""):
            assert "set_mempolicy" in text, "the precondition"


@BY_CODE
def test_the_runbook_has_a_section(rule: Rule) -> None:
    page = Path(__file__).parents[2] / "docs" / "runbooks.md"
    if not page.exists():
        pytest.skip("needs docs/runbooks.md")
    assert f"## {rule.code}\n" in page.read_text(encoding="utf-8")


def test_every_finding_has_a_pair_and_no_pair_is_left_over() -> None:
    assert list(CASES) == [rule.code for rule in FINDINGS]


def test_docs_list_every_finding() -> None:
    page = markdown()
    assert all(f"| `{rule.code}` |" in page for rule in FINDINGS)


def test_a_healthy_machine_has_no_finding() -> None:
    from tests.findings.machines import working

    judged = watch(working({0: 0.5}, mapped={"anon": {0: 8 << 30}}))
    assert [finding.code for one in judged for finding in one.findings] == []


def test_memory_all_on_another_socket_is_not_wider() -> None:
    elsewhere = cgroup("0-15", mems=frozenset({1}))
    judged = last(steadily(two_socket(), task(1, gpus="GPU-0"), cgroups=(elsewhere,)))
    assert of(judged, "mems_wider_than_cpus") == []


def test_an_unknown_affinity_says_what_sysfs_said() -> None:
    """A node that is not online is not the firmware's silence."""
    for node, said in ((None, "sysfs says -1 and"), (9, "sysfs says 9, which has no nearest node with CPUs, and")):
        parts = two_socket(0).with_gpus(gpu(0, node))
        (found,) = of(last(steadily(parts)), "affinity_unknown")
        assert said in found.sentence


def test_a_machine_without_nodes_quotes_no_file_that_it_does_not_have() -> None:
    (found,) = of(last(steadily(replace(two_socket(0), topology=topology()))), "single_node")
    assert [(line.path, line.line) for line in found.evidence] == [("/sys/devices/system/node", "no node with CPUs")]
