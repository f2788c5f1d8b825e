"""A node from its files to its series: who runs on the GPU, what was promised, and what happens when a kubelet ends."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from numa_exporter.agent.look import Looker
from numa_exporter.agent.pipeline import Pipeline
from numa_exporter.metrics import TABLE
from numa_exporter.metrics.exposition import families, text
from numa_exporter.metrics.row import View
from numa_exporter.model.recording import Frame, Recording, Refusal
from numa_exporter.model.report import Report
from numa_exporter.model.thresholds import Settings
from numa_exporter.sources.replay import ReplayHost
from numa_exporter.sources.table import SOURCES
from tests.agent.tree import files as machine_files
from tests.fakehost import Files, answers_of
from tests.kubernetes.machines import cgroup_path, container_id, uid
from tests.kubernetes.podresources_server import allocatable, gpu_pod, pods
from tests.sources.proc_tree import WALL, machine, process
from tests.sources.test_gpus import nvml

PID = 42
GPU = "GPU-9b341c59-f96b-ba85-c137-78c3652fea65"
CGROUP = cgroup_path("llm-0")
ROOT = "/var/lib/kubelet"
LINK = f"/var/log/containers/llm-0_prod_vllm-{container_id('llm-0')}.log"
LOG = f"/var/log/pods/prod_llm-0_{uid('llm-0')}/vllm/0.log"
GONE = Refusal(word="gone", detail="Connection refused")
ANSWERS: Mapping[str, Any] = {
    '["DeviceGetCount"]': 1,
    **nvml(0, domain=0, bus=0x41, uuid=GPU, ComputeRunningProcesses=[[PID, 40 << 30, None]]),
}
STATE = json.dumps(
    {"policyName": "static", "defaultCpuSet": "0-1", "entries": {uid("llm-0"): {"vllm": "2-3"}}, "checksum": 1}
)
ENTRY = {"PodUID": uid("llm-0"), "ContainerName": "vllm", "ResourceName": "nvidia.com/gpu", "DeviceIDs": {"1": [GPU]}}
CHECKPOINT = json.dumps({"Data": {"PodDeviceEntries": [ENTRY], "RegisteredDevices": {"nvidia.com/gpu": [GPU]}}})
REPLIES: Mapping[str, bytes | Refusal] = {
    "List": pods(gpu_pod(GPU, numa_node=1, cpus=(2, 3))).SerializeToString(),
    "GetAllocatableResources": allocatable(
        {"devices": [{"resource_name": "nvidia.com/gpu", "device_ids": [GPU], "topology": {"nodes": [{"ID": 1}]}}]}
    ).SerializeToString(),
}
DOWN: Mapping[str, bytes | Refusal] = dict.fromkeys(REPLIES, GONE)
NODE: Files = {
    LOG: "",
    LINK: "",
    f"{ROOT}/cpu_manager_state": STATE,
    f"{ROOT}/memory_manager_state": '{"policyName":"None","machineState":{},"entries":{},"checksum":1}',
    f"{ROOT}/device-plugins/kubelet_internal_checkpoint": CHECKPOINT,
    f"{ROOT}/config.yaml": "kind: KubeletConfiguration\ntopologyManagerPolicy: single-numa-node\n",
    f"/sys/fs/cgroup{CGROUP}/cpuset.cpus.effective": "2-3\n",
    f"/sys/fs/cgroup{CGROUP}/cpuset.mems.effective": "0-1\n",
}


def frame(
    number: int, changes: Files, replies: Mapping[str, bytes | Refusal], *, running: bool = True, without: str = "?"
) -> Frame:
    """The node at a look. ``running``: the pod's process. ``without``: how the paths of files begin that are gone."""
    told, links = machine_files()
    living = machine(process(PID, CGROUP)) if running else machine()
    node = {path: content for path, content in NODE.items() if not path.startswith(without)}
    listed = ANSWERS if running else {**ANSWERS, '["DeviceGetComputeRunningProcesses", 0]': []}
    answers = answers_of(
        {**told, **living, **node, **changes}, links=links, nvml=listed, kubelet=replies, affinity={PID: [2, 3]}
    )
    return Frame(taken_at=WALL + 15 * number, monotonic=1000.0 + 15 * number, answers=answers)


def reports(*frames: Frame) -> Sequence[Report]:
    host = ReplayHost(Recording(nodename="n", simulated=True, exporter="t", frames=frames, settings={}))
    pipeline = Pipeline(host, SOURCES, Settings(), host.advance)
    return Looker(pipeline).looks(len(frames), 0.0)


def series(report: Report, name: str) -> list[tuple[dict[str, str], float]]:
    page = text(families(TABLE, View(report=report))).decode()
    rows = (sample for family in text_string_to_metric_families(page) for sample in family.samples)
    return [(sample.labels, sample.value) for sample in rows if sample.name == name]


NAMED = {"namespace": "prod", "pod": "llm-0", "container": "vllm"}


def test_from_files_to_series() -> None:
    (report,) = reports(frame(0, {}, REPLIES))
    assert {name: health.up for name, health in report.health.items() if name in ("kubelet", "names")} == {
        "kubelet": True,
        "names": True,
    }
    ((labels, _),) = series(report, "numa_gpu_workload_info")
    assert labels == {"uuid": GPU, "rank": GPU, "role": "main", "evidence": "nvml", **NAMED}
    ((labels, _),) = series(report, "numa_workload_info")
    assert labels["pod_uid"] == uid("llm-0")
    assert series(report, "numa_workload_granted_cpus") == [({**NAMED, "numa_node": "1"}, 2.0)]
    assert series(report, "numa_gpu_granted") == [({"uuid": GPU}, 1.0)]
    ((labels, _),) = series(report, "numa_kubelet_policy_info")
    assert labels["topology_manager"] == "single-numa-node"
    shares = {labels["state"]: value for labels, value in series(report, "numa_exporter_gpu_processes")}
    assert shares == {"attributed": 1, "unattributed": 0, "denied": 0, "observer": 0}


HALF: Files = {f"{ROOT}/cpu_manager_state": STATE[:30]}
NEWER: Files = {f"{ROOT}/cpu_manager_state": json.dumps({"schema": 9, "podsAndPools": [STATE]})}
EMBEDDED: Files = {f"{ROOT}/cpu_manager_state": json.dumps({"data": STATE, "checksum": 7, "newer": True})}


@pytest.mark.parametrize(
    ("changes", "replies", "word", "cpus_known"),
    [
        ({}, DOWN, "gone", True),
        ({}, dict.fromkeys(REPLIES, Refusal(word="stuck", detail="no answer within 2 s")), "stuck", True),
        ({}, {}, None, True),
        (HALF, {}, "garbled", False),
        (NEWER, {}, "garbled", False),
        (EMBEDDED, {}, None, True),
        # PodResources says the same where the file cannot be read.
        (HALF, REPLIES, "garbled", True),
    ],
    ids=["restarting", "hanging", "no socket", "half-written", "unknown schema", "embedded schema", "socket alone"],
)
def test_the_right_word_and_the_rest_lives_on(
    changes: Files, replies: Mapping[str, bytes | Refusal], word: str | None, cpus_known: bool
) -> None:
    (report,) = reports(frame(0, changes, replies))
    failure = report.health["kubelet"].failure
    assert (failure and failure.word) == word
    assert series(report, "numa_gpu_granted") == [({"uuid": GPU}, 1.0)]
    assert bool(series(report, "numa_workload_granted_cpus")) == cpus_known
    ((labels, _),) = series(report, "numa_workload_info")
    assert labels["pod"] == "llm-0"


def test_a_kubelet_that_goes_and_returns_changes_no_key() -> None:
    found = reports(frame(0, {}, REPLIES), frame(1, {}, DOWN, without=ROOT), frame(2, {}, REPLIES))
    keys = [[workload.key for workload in report.placement.workloads] for report in found]
    assert keys[0] == keys[1] == keys[2]
    assert [report.health["kubelet"].up for report in found] == [True, False, True]
    assert [len(series(report, "numa_gpu_granted")) for report in found] == [1, 1, 1], "an old reading is kept a while"


def test_a_kubelet_that_stays_away_is_forgotten() -> None:
    looks = [frame(0, {}, REPLIES), *(frame(number, {}, DOWN, without=ROOT) for number in range(1, 8))]
    shown = [len(series(report, "numa_gpu_granted")) for report in reports(*looks)]
    assert shown[0] == 1
    assert shown[-1] == 0


OTHER = "/sys/fs/cgroup/kubepods.slice/kubepods-pod0_0.slice/cgroup.procs"


def test_a_pod_that_ended_is_not_attributed_though_its_checkpoint_and_list_remain() -> None:
    gone = frame(1, {OTHER: "9\n"}, REPLIES, running=False, without="/sys/fs/cgroup")
    running, ended = reports(frame(0, {}, REPLIES), gone)
    assert series(running, "numa_gpu_granted") == [({"uuid": GPU}, 1.0)]
    assert series(ended, "numa_gpu_granted") == [({"uuid": GPU}, 0.0)]
    assert series(ended, "numa_gpu_workload_info") == []
    assert series(ended, "numa_workload_granted_cpus") == []


def test_a_granted_gpu_whose_process_has_not_come_yet() -> None:
    (report,) = reports(frame(0, {}, REPLIES, running=False))
    ((labels, _),) = series(report, "numa_gpu_workload_info")
    assert labels == {"uuid": GPU, "role": "main", "evidence": "kubelet", **NAMED}
