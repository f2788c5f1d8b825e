"""Rule files, their PrometheusRule form and the documents around them: valid, fresh, and naming only what exists."""

import importlib.util
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from rule_test import FILES, REPOSITORY, RULES, alerts, groups

from numa_exporter.cli.intents import load as load_intents
from numa_exporter.findings import FINDINGS
from numa_exporter.findings.rule import Rule
from numa_exporter.formats import idlist
from numa_exporter.metrics import TABLE
from numa_exporter.model.thresholds import Thresholds, limits
from tests.modules import need_module

RUNBOOKS = REPOSITORY / "docs" / "runbooks.md"
JOINS = REPOSITORY / "docs" / "joins.md"
ALERTMANAGER = REPOSITORY / "deploy" / "alertmanager" / "alertmanager.yaml"
DOCUMENTS = [*FILES.values(), RUNBOOKS, JOINS, ALERTMANAGER]

METRICS = {row.name: row.labels for row in TABLE}
NOT_METRICS = {
    "numa_exporter",
    "numa_node",
    "numa_maps",
    "numa_foreign",
    "numa_balancing",
}  # labels, kernel files and words
TARGET_LABELS = {"cluster", "node", "instance", "job"}

# The finding codes of the contract; a test of the findings themselves holds that each has a section.
CODES = re.findall(
    r"\w+",
    """
memory_remote host_buffers_remote cpu_remote cpuset_off_home policy_off_home rank_swapped grant_broken
local_memory_exhausted gpu_node_polluted threads_escaped cpuset_unconfined mems_wider_than_cpus
pages_before_policy gpus_span_sockets policy_interleaved process_spans_sockets not_exclusive affinity_unknown irq_remote
pcie_degraded numa_balancing_on single_node virtual_topology device_opened_everywhere policy_note
""",
)


@pytest.mark.parametrize("file", sorted(FILES))
def test_promtool_accepts(file: str, promtool: str) -> None:
    command = [promtool, "check", "rules", str(FILES[file])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_rules_are_fresh() -> None:
    """Run deploy/rules/build.py if this fails."""
    spec = importlib.util.spec_from_file_location("build_rules", RULES / "build.py")
    assert spec and spec.loader
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    for file, (name, subjects) in build.OBJECTS.items():
        assert (RULES / file).read_text() == build.prometheus_rule(name, subjects), file


@pytest.mark.parametrize(
    ("file", "subjects"),
    [("prometheusrule.yaml", ("drift", "rollups", "alerts")), ("prometheusrule-pain.yaml", ("pain",))],
)
def test_prometheus_rule_means_the_same(file: str, subjects: tuple[str, ...]) -> None:
    """Indenting text must not have changed a block scalar."""
    document = yaml.safe_load((RULES / file).read_text())
    assert (document["apiVersion"], document["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert document["spec"] == {"groups": list(groups(subjects))}


def test_every_group_runs_each_minute() -> None:
    """GPU-hours count samples as minutes, and drift counts an hour as sixty of them."""
    assert {group["interval"] for group in groups(FILES)} == {"1m"}


def sections() -> list[str]:
    return [line.removeprefix("## ") for line in RUNBOOKS.read_text().splitlines() if line.startswith("## ")]


def test_every_alert_links_to_its_section() -> None:
    anchors = {f"/docs/runbooks.md#{title.lower()}": title for title in sections()}
    for name, rule in alerts().items():
        assert anchors.get(rule["annotations"]["runbook_url"]) == name


def test_every_finding_of_the_contract_has_a_section() -> None:
    assert set(CODES) <= set(sections())
    assert len(sections()) == len(set(sections()))


@pytest.mark.parametrize("rule", FINDINGS, ids=lambda rule: rule.code)
def test_the_section_of_a_finding_names_its_levels(rule: Rule) -> None:
    section = RUNBOOKS.read_text().split(f"\n## {rule.code}\n")[1].split("\n## ")[0]
    first = section.strip().split(". ")[0].lower()
    assert {level for level in ("warning", "info") if re.search(rf"\b{level}\b", first)} == set(rule.levels)


def test_every_alert_section_says_what_when_and_how() -> None:
    text = RUNBOOKS.read_text()
    for name, rule in alerts().items():
        section = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
        assert f"**{rule['labels']['severity'].capitalize()}" in section, name
        assert all(f"**{part}.**" in section for part in ("Confirm", "Fix", "Silence")), name


def test_links_within_the_runbooks_lead_somewhere() -> None:
    anchors = {title.lower().replace(" ", "-") for title in sections()}
    assert set(re.findall(r"\]\(#([\w-]+)\)", RUNBOOKS.read_text())) <= anchors


def test_the_cpuset_is_found_on_cgroup_v1_and_v2() -> None:
    """Each way of the runbooks, run for this process: CPUs that it may use are in its cpuset."""
    ways = re.findall(r"^C=\$\(cat /proc/PID/cpuset\).*\n.*", RUNBOOKS.read_text(), re.MULTILINE)
    assert len(ways) == 2
    assert "^0::" not in RUNBOOKS.read_text()
    for way in ways:
        script = "\n".join(
            line for line in way.replace("PID", str(os.getpid())).splitlines() if "journalctl" not in line
        )
        told = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False).stdout
        assert idlist.parse(told.strip().encode(), "cpuset") >= os.sched_getaffinity(0)


def test_the_example_of_an_intent_file_is_one(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", RUNBOOKS.read_text(), re.DOTALL)
    (tmp_path / "intents.yaml").write_text(example)
    (intent,) = load_intents(str(tmp_path / "intents.yaml"))
    assert (intent.namespace, intent.pod, intent.codes) == ("prod", "llm-*", {"cpu_remote"})


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_metric_and_recording_rule_exists(document: Path) -> None:
    text = document.read_text()
    named = {name for name in re.findall(r"\bnuma_\w+", text) if not name.endswith("_")}  # `numa_rank_*` is a prefix
    assert named <= METRICS.keys() | set(CODES) | NOT_METRICS
    recorded = {rule["record"] for group in groups(FILES) for rule in group["rules"] if "record" in rule}
    assert {name.rstrip(":") for name in re.findall(r"\bnuma:[\w:]+", text)} <= recorded


def selectors(text: str) -> Iterator[tuple[str, str]]:
    """(metric, label) for every label of every selector on a metric of ours."""
    for metric, inside in re.findall(r"\b(numa_\w+)\{([^}]*)\}", text):
        yield from ((metric, label) for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", inside))


@pytest.mark.parametrize("document", [*FILES.values(), JOINS], ids=lambda path: path.name)
def test_every_label_of_a_selector_exists(document: Path) -> None:
    wrong = {
        (metric, label)
        for metric, label in selectors(document.read_text())
        if label not in TARGET_LABELS and label not in METRICS[metric]
    }
    assert wrong == set()


def test_every_limit_and_finding_code_exists() -> None:
    text = "".join(path.read_text() for path in FILES.values())
    names = set(re.findall(r'numa:limit\{name="(\w+)"\}', text))
    assert names
    assert names <= {limit.name for limit in limits(Thresholds())}
    codes = set(re.findall(r'code="(\w+)"', text))
    assert codes
    assert codes <= set(CODES)


@pytest.mark.parametrize("document", [RUNBOOKS, JOINS], ids=lambda path: path.name)
def test_every_query_in_the_documents_parses(document: Path, promtool: str, tmp_path: Path) -> None:
    queries = re.findall(r"```promql\n(.*?)```", document.read_text(), re.DOTALL)
    assert queries
    rules = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(queries)]
    (tmp_path / "queries.yaml").write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    command = [promtool, "check", "rules", str(tmp_path / "queries.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_rule_is_promql_to_a_parser_that_is_not_prometheus_own() -> None:
    parser = need_module("promql_parser", reason="needs the extra `grafana`")
    for group in groups(FILES):
        for rule in group["rules"]:
            assert parser.parse(rule["expr"]), rule


def test_dashboard_matters_never_alert() -> None:
    """Spread, interrupts and unconfined containers are for the dashboard."""
    text = FILES["alerts"].read_text() + FILES["pain"].read_text()
    for code in ("gpus_span_sockets", "irq_remote", "cpuset_unconfined"):
        assert code not in text
