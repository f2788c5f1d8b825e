"""The simulated host as a host: doors that agree with each other, and that a recording can take along."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numa_exporter import __version__
from numa_exporter.agent.look import Looker
from numa_exporter.agent.pipeline import Pipeline
from numa_exporter.bundle.archive import pack, unpack
from numa_exporter.formats import idlist, proc_stat
from numa_exporter.model.document import document
from numa_exporter.model.recording import Recording
from numa_exporter.model.report import Report
from numa_exporter.model.thresholds import Settings
from numa_exporter.simhost.layout import id_list
from numa_exporter.simhost.pages import SimulatedMapping
from numa_exporter.sources.host import HostError
from numa_exporter.sources.replay import RecordingHost, ReplayHost
from numa_exporter.sources.table import SOURCES
from tests.demo.simulated import host, pipeline, simulation


def test_a_bundle_of_it_replays_the_same_report() -> None:
    opened = host(simulation("two-socket-eight-gpu"), first=-600)
    recorder = RecordingHost(opened)

    def step() -> None:
        recorder.begin()
        opened.advance()

    asked = Settings(every_look=True)
    seen = Looker(Pipeline(recorder, SOURCES, asked, step)).looks(3, 10)
    taken = Recording(
        nodename=opened.nodename, simulated=True, exporter=__version__, frames=tuple(recorder.frames()), settings={}
    )
    again = ReplayHost(unpack(pack(taken, document(seen[-1])), "demo.tar.gz"))
    replayed = Looker(Pipeline(again, SOURCES, asked, again.advance)).looks(3, 10)
    assert [_told(report) for report in replayed] == [_told(report) for report in seen]
    assert replayed[-1].placement.host.mode == "simulated"


def _told(report: Report) -> dict[str, object]:
    return document(replace(report, exporter=""))


def test_what_is_not_there_is_refused_as_a_kernel_does() -> None:
    opened = host(simulation("single-node"))
    for path, word in {"/proc/99999/stat": "gone", "/etc/nothing": "absent"}.items():
        with pytest.raises(HostError) as refused:
            opened.read(path)
        assert refused.value.word == word
    with pytest.raises(HostError) as refused:
        opened.page_nodes(99999, [0x1000])
    assert refused.value.word == "gone"


def test_time_of_a_cpu_never_runs_backwards() -> None:
    opened = host(simulation("two-socket-eight-gpu"), first=-2000, tick=60)
    before: dict[int, float] = {}
    for _ in range(12):
        stat = proc_stat.parse(opened.read("/proc/stat"), "/proc/stat")
        now = {cpu: ticks["user"] + ticks["system"] for cpu, ticks in stat.cpus.items()}
        assert all(now[cpu] >= spent for cpu, spent in before.items())
        before = now
        opened.advance()


def test_a_pod_that_was_replaced_left_its_names() -> None:
    opened = host(simulation("two-socket-eight-gpu"), first=-1860, tick=120)
    pods = [set(opened.list("/var/log/pods"))]
    opened.advance()
    pods.append(set(opened.list("/var/log/pods")))
    gone, came = pods[0] - pods[1], pods[1] - pods[0]
    assert len(gone) == len(came) == 1
    shape = re.compile(r"inference_mixtral-8x7b-([a-z0-9]{9})-[a-z0-9]{5}_")
    hashes = [match[1] for name in (*gone, *came) if (match := shape.match(name))]
    assert len(hashes) == 2 and hashes[0] == hashes[1]  # one ReplicaSet


@pytest.mark.parametrize("name", ["two-socket-eight-gpu", "nps4", "grant-broken"])
def test_evidence_stands_in_files_that_are_there(name: str) -> None:
    opened = host(simulation(name), first=-600)
    report = Looker(pipeline(opened)).looks(40, 15)[-1]
    paths = {evidence.path for finding in report.findings for evidence in finding.evidence}
    assert any("cpuset" in path for path in paths)
    for path in paths:
        if "*" not in path:
            assert opened.read(path), path


def test_every_source_is_content() -> None:
    report = Looker(pipeline(host(simulation("nps4")))).looks(2, 10)[-1]
    assert {name for name, health in report.health.items() if health.failure} <= {"traffic", "kubelet"}
    assert report.placement.attribution.unattributed == report.placement.attribution.denied == 0
    assert {observer.comm for observer in report.placement.observers} >= {"nv-hostengine"}


@settings(max_examples=25)
@given(st.lists(st.integers(0, 2000), min_size=1, max_size=3).filter(any), st.integers(0, 4000))
def test_page_by_page_is_what_numa_maps_prints(counts: list[int], beyond: int) -> None:
    by_node = dict(enumerate(counts))
    total = sum(counts)
    mapping = SimulatedMapping(
        start=0x1000,
        end=0x1000 + (total + beyond) * 4096,
        perms="rw-p",
        device="00:00",
        inode=0,
        name="",
        policy="default",
        by_node=by_node,
    )
    found = [mapping.node_of(0x1000 + page * 4096) for page in range(total)]
    # Dealt in rounds of 4,096: within a round's rounding of the counts that are printed.
    for node, count in by_node.items():
        assert abs(found.count(node) - count) <= total / 4096 + 4096 / 4 + 1
    assert mapping.node_of(mapping.end) == -2
    assert "".join(f" N{node}={count}" for node, count in by_node.items() if count) in mapping.numa_maps_line


@given(st.sets(st.integers(0, 300), min_size=1))
def test_lists_of_ids_read_back(ids: set[int]) -> None:
    assert idlist.parse(id_list(ids).encode(), "test") == ids
