"""The document: contract §6's keys, unknown as null, the same numbers as the metrics, and a page can be drawn of it."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.cli import report_text
from numa_exporter.metrics import TABLE
from numa_exporter.metrics.exposition import families
from numa_exporter.model.document import document
from numa_exporter.model.report import Evidence, Finding, Report, Subject
from numa_exporter.page import render
from tests.builders import (
    GIB,
    Parts,
    container,
    gb200,
    memory_only,
    nps4,
    sample,
    single_node,
    task,
    two_socket,
)
from tests.metrics.scenes import crowded, report, view
from tests.page.parsed import parse
from tests.placement.test_laws import SPECS, Spec, tasks

# Contract §6, word by word; keys may be added.
HOST = {"nodename", "boot_id", "kernel", "cgroup", "exporter"}
NODE = {
    "id", "socket", "kind", "cpus", "memory_bytes", "memory_free_bytes", "memory_reclaimable_bytes", "distances",
}  # fmt: skip
GPU = {"uuid", "index", "pci_bus_id", "model", "affinity", "affinity_source", "memory_node", "mig"}
WORKLOAD = {
    "namespace", "pod", "container", "unit", "pod_uid", "container_id", "runtime", "qos_class", "cpuset_cpus",
    "cpuset_mems", "charged", "helpers", "ranks",
}  # fmt: skip
RANK = {
    "uuid", "gpus", "home", "processes", "mapped", "mapped_method", "mapped_error_ratio", "policy", "threads",
    "cpu_seconds", "cpu_moved_seconds", "not_judged", "misalignment", "misaligned",
}  # fmt: skip
FINDING = {
    "code", "level", "subject", "sentence", "value", "limit", "window_seconds", "since", "confidence", "evidence",
    "remedy", "remedy_note", "suppressed",
}  # fmt: skip
SOURCE = {"up", "failure", "duration_seconds", "age_seconds"}


def told(made: Report) -> Any:
    """What a reader of the JSON gets."""
    return json.loads(json.dumps(document(made), allow_nan=False))


def looks(parts: Parts, count: int = 4) -> Report:
    return report(*(crowded(parts, 3, look) for look in range(count)))


def test_every_key_of_the_contract_is_there() -> None:
    found = told(looks(two_socket()))
    assert found["schema"] == "numa-exporter/report/1"
    assert found["mode"] == "simulated"
    assert found["taken_at"] == "2026-01-31T12:00:45Z"
    assert set(found["host"]) >= HOST
    assert set(found["machine"]["nodes"][0]) >= NODE
    assert found["machine"]["nodes"][1]["cpus"] == "16-31,48-63"
    assert set(found["machine"]["sockets"][0]) >= {"id", "cpus", "cpu_utilization_ratio"}
    assert set(found["machine"]["devices"][0]) >= {"name", "class", "pci_bus_id", "numa_node"}
    assert set(found["machine"]["paths"][0]) >= {"a", "b", "path"}
    assert set(found["gpus"][0]) >= GPU
    assert set(found["workloads"][0]) >= WORKLOAD
    assert set(found["workloads"][0]["ranks"][0]) >= RANK
    assert set(found["workloads"][0]["ranks"][0]["processes"][0]) >= {"pid", "start_ticks", "comm", "evidence", "stray"}
    assert set(found["findings"][0]) >= FINDING
    assert set(found["findings"][0]["subject"]) >= {
        "namespace",
        "pod",
        "container",
        "unit",
        "uuid",
        "numa_node",
        "device",
    }
    assert all(set(source) >= SOURCE for source in found["sources"].values())


def test_helpers_each_with_their_own_cpu_time() -> None:
    engine = task(1, gpus="GPU-0", cgroup=container("a"), cpu={0: 9.0})
    launcher = task(2, cgroup=container("a"), comm="bash", cpu={0: 1.0, 1: 2.0})
    loader = task(3, cgroup=container("a"), comm="loader")
    found = told(report(sample(two_socket(), engine, launcher, loader)))
    assert found["workloads"][0]["helpers"] == [
        {"pid": 2, "start_ticks": 20, "comm": "bash", "home": [0], "cpu_seconds": {"0": 1.0, "1": 2.0}},
        {"pid": 3, "start_ticks": 30, "comm": "loader", "home": [0], "cpu_seconds": None},
    ]


def test_cpu_seconds_are_those_that_the_ratio_was_made_of() -> None:
    """Seven minutes on node 0, then five on node 1: the window of the verdict has only the latter."""
    spent = [{0: 15.0 * min(look, 28), 1: 15.0 * max(0, look - 28)} for look in range(49)]
    made = report(
        *(sample(two_socket(), task(1, gpus="GPU-0", cpu=cpu), at=15.0 * look) for look, cpu in enumerate(spent))
    )
    (rank,) = told(made)["workloads"][0]["ranks"]
    assert rank["cpu_seconds"] == {"1": 300.0}
    assert rank["cpu_window_seconds"] == 300.0
    assert rank["misalignment"]["cpu_time"] == 1.0
    assert rank["cpu_seconds_total"] == {"0": 420.0, "1": 300.0}


def test_why_sockets_and_verdicts_are_unknown_is_said() -> None:
    parts = two_socket().change_topology(packages={})
    found = told(report(sample(parts, task(1, gpus="GPU-0"))))
    assert found["machine"]["sockets_unknown"] == "package_missing"
    (rank,) = found["workloads"][0]["ranks"]
    assert rank["unjudged"] == "sockets are unknown"
    sizeless = told(report(sample(two_socket(), task(1, gpus={"GPU-0": None}))))["workloads"][0]["ranks"][0]
    assert sizeless["low_confidence"] == "used bytes are not known"


def test_no_gpu_and_gpus_that_nobody_answered_for_are_not_the_same() -> None:
    assert told(report(sample(two_socket(0))))["gpus"] == []
    assert told(report(sample(two_socket(), gpus=None)))["gpus"] is None


def test_an_observer_says_where_it_lives() -> None:
    dcgm = task(9, gpus="GPU-0", comm="nv-hostengine", cgroup="/system.slice/dcgm.service")
    (found,) = told(report(sample(two_socket(), dcgm)))["observers"]
    assert (found["pid"], found["comm"], found["gpus"]) == (9, "nv-hostengine", ["GPU-0"])
    assert found["unit"] == "dcgm.service"


@pytest.mark.parametrize("parts", [two_socket(), nps4(), gb200()], ids=["two_socket", "nps4", "gb200"])
def test_metrics_and_document_show_the_same_numbers(parts: Parts) -> None:
    made = looks(parts)
    exposed = {
        (one.name, *sorted(one.labels.items())): one.value
        for metric in families(TABLE, view(made)).metrics
        for one in metric.samples
    }
    compared = 0
    for work in told(made)["workloads"]:
        for rank in work["ranks"]:
            key = ("unit", work["unit"]), ("uuid", rank["uuid"])
            for dimension, ratio in rank["misalignment"].items():
                compared += 1
                assert exposed["numa_rank_misalignment_ratio", ("dimension", dimension), *key] == ratio
            for locality, count in rank["threads"].items():
                assert exposed["numa_rank_threads", ("locality", locality), *key] == count
            for backing, nodes in rank["mapped"].items():
                shown = {
                    dict(name[1:])["numa_node"]: value
                    for name, value in exposed.items()
                    if name[0] == "numa_rank_mapped_bytes" and {("backing", backing), *key} <= set(name[1:])
                }
                assert {node: value for node, value in shown.items() if value} == {n: v for n, v in nodes.items() if v}
    assert compared


@pytest.mark.parametrize(
    "made",
    [
        looks(two_socket()),
        looks(nps4()),
        looks(gb200()),
        looks(memory_only()),
        looks(single_node()),
        report(sample(two_socket(0))),
        report(sample(two_socket(), topology=None)),
        report(sample(two_socket(), gpus=None)),
        report(sample(two_socket().change_gpus(function=None), task(1, gpus="GPU-0", mapped={"anon": {0: GIB}}))),
        report(sample(two_socket().change_topology(packages={}), task(1, gpus="GPU-0", cpu={0: 1.0}))),
    ],
    ids=["two_socket", "nps4", "gb200", "memory_only", "single_node", "no_gpu", "unread", "stuck", "homeless", "vm"],
)
def test_a_page_can_be_drawn_of_it(made: Report) -> None:
    parse(render(told(made)).html)


@given(st.lists(SPECS, max_size=5))
def test_a_page_can_be_drawn_of_any_mix_of_processes(specs: list[Spec]) -> None:
    found = told(report(sample(two_socket(), *tasks(specs)), sample(two_socket(), *tasks(specs), at=15.0)))
    page = render(found).html
    for work in found["workloads"]:
        assert work["unit"] in page


def test_a_cgroup_whose_name_is_no_utf_8_can_be_told() -> None:
    """Users name the cgroups below their own manager."""
    told = Evidence(path="/sys/fs/cgroup/\udcff.service/cpuset.cpus.effective", line="\udcfe")
    finding = Finding(code="cpuset_off_home", level="warning", subject=Subject(), sentence="x", evidence=(told,))
    made = replace(report(crowded(two_socket(2), 1)), findings=(finding,))
    assert json.dumps(document(made), ensure_ascii=False).encode()
    assert r"/sys/fs/cgroup/\xff.service/" in report_text.render(made, report_text.Style())
