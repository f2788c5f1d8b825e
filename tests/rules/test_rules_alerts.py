"""Every alert: one machine on which exactly it fires, from which minute on, with which words, and one near miss.

NumaPlacementDrift has its own stories (test_rules_drift.py); here only its words are held.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from rule_test import Alert, Samples, Series, alerts, ever_fired, promtool_test, series, steps

GIB = 1 << 30
MACHINE = {"cluster": "eu", "node": "gpu-7", "instance": "10.0.0.7:10062", "job": "numa-exporter"}
PLACE = {"cluster": "eu", "node": "gpu-7"}
POD = {"namespace": "llm", "pod": "chat-0", "container": "vllm"}
UNIT = {"unit": "vllm.service"}
RANK = POD | {"uuid": "GPU-1"}
CORDONED = {series("kube_node_spec_unschedulable", PLACE): steps((300, 1))}


def finding(code: str, *labels: Mapping[str, str], level: str = "warning", **more: str) -> str:
    return series("numa_findings", MACHINE, *labels, {"code": code, "level": level}, **more)


def ratio(dimension: str, *labels: Mapping[str, str]) -> str:
    return series("numa_rank_misalignment_ratio", MACHINE, *(labels or (RANK,)), dimension=dimension)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fires:
    """From ``minute`` on, not two minutes earlier; no other alert at any time. ``others`` are its expected companions.

    One minute earlier is right in Prometheus 3: it leaves out the sample at the far end of a range, so that ten minutes
    are ten samples instead of eleven.
    """

    alert: str
    minute: int
    given: Series
    labels: Mapping[str, str]
    severity: str = "ticket"
    summary: str
    description: str
    rules: tuple[str, ...] = ("drift", "rollups", "alerts")
    others: frozenset[str] = frozenset()

    @property
    def expected(self) -> Alert:
        url = f"/docs/runbooks.md#{self.alert.lower()}"
        words = {"summary": self.summary, "description": self.description, "runbook_url": url}
        return Alert(labels=dict(self.labels) | {"severity": self.severity}, annotations=words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Silent:
    """Nothing ever fires until ``minute``, and ``why`` it must not; ``near`` is the alert that it almost is."""

    near: str
    why: str
    given: Series
    minute: int = 120
    rules: tuple[str, ...] = ("drift", "rollups", "alerts")
    fired: frozenset[str] = frozenset()


def drifted(minutes: int = 300) -> Series:
    """Aligned for three hours, then 60 % remote."""
    limits = {"memory": 0.2, "memory_bytes": 0.5 * GIB, "rank_age_seconds": 600}
    return {
        **{series("numa_exporter_threshold", MACHINE, name=k): steps((minutes, v)) for k, v in limits.items()},
        series("numa_rank_start_time_seconds", MACHINE, RANK): steps((minutes, -6000)),
        ratio("memory"): steps((180, 0.0), (minutes - 180, 0.6)),
        series("numa_rank_mapped_error_ratio", MACHINE, RANK): steps((minutes, 0.01)),
        series("numa_rank_mapped_bytes", MACHINE, RANK, locality="remote", backing="anon", numa_node="1"): steps(
            (minutes, 9 * GIB)
        ),
    }


SLO_ALERT = series(
    "ALERTS", alertname="ChatTTFTBudgetBurn", alertstate="firing", cluster="eu", namespace="llm", pod="chat-0"
)


def sources(minutes: int, up: int, read_every: int | None) -> Series:
    """A source read every so many minutes, or never again after minute 0."""
    stamps = steps((minutes, 0)) if read_every is None else f"0+60x{minutes - 1}"
    return {
        series("numa_exporter_source_up", MACHINE, source="nvml"): steps((minutes, up)),
        series("numa_exporter_source_interval_seconds", MACHINE, source="nvml"): steps((minutes, 30)),
        series("numa_exporter_source_read_timestamp_seconds", MACHINE, source="nvml"): stamps,
    }


def targets(up: int, down: int) -> Series:
    """Exporter targets of so many machines."""
    return {
        series("up", MACHINE, node=f"gpu-{i}", instance=f"10.0.0.{i}:10062"): steps((200, 0 if i < down else 1))
        for i in range(up + down)
    }


def rejections(reason: str, instance: str = "k") -> str:
    return series("kubelet_admission_rejections_total", PLACE, instance=instance, reason=reason)


def memory_of(node: str, free: float) -> Series:
    return {
        series("numa_node_memory_bytes", MACHINE, numa_node=node): steps((200, 100 * GIB)),
        series("numa_node_memory_free_bytes", MACHINE, numa_node=node): steps((200, free * 100 * GIB)),
    }


FIRES = [
    Fires(
        alert="NumaPlacementDrift",
        minute=200,
        severity="page",
        given=drifted(),
        labels={"cluster": "eu", "namespace": "llm", "workload": "chat", "container": "vllm", "dimension": "memory"},
        summary="llm/chat became remote (memory)",
        description="It was aligned and now is not: 100% of its ranks are bad beyond the usual share. Worst ranks: "
        "chat-0 GPU GPU-1 on gpu-7, 59% remote;",
    ),
    Fires(
        alert="NumaPlacementDriftHurts",
        minute=205,
        severity="page",
        given=drifted() | {SLO_ALERT: steps((300, 1))},
        labels=PLACE | RANK | {"workload": "chat", "dimension": "memory"},
        rules=("drift", "rollups", "alerts", "pain"),
        others=frozenset({"NumaPlacementDrift", "ChatTTFTBudgetBurn"}),
        summary="llm/chat became remote and is slow",
        description="llm/chat-0/vllm, GPU GPU-1 on gpu-7: 59% remote (memory) since it drifted, "
        "and the pod's own latency alert fires.",
    ),
    Fires(
        alert="NumaGrantBroken",
        minute=2,
        severity="page",
        given={
            finding("grant_broken", POD): steps((60, 1)),
            series("numa_workload_granted_cpus", MACHINE, POD, numa_node="0"): steps((60, 16)),
            series("numa_workload_cpuset_cpus", MACHINE, POD, locality="local"): steps((60, 56)),
            series("numa_workload_cpuset_cpus", MACHINE, POD, locality="remote"): steps((60, 56)),
            series("numa_gpu_workload_info", MACHINE, RANK, rank="GPU-1", role="main", evidence="nvml"): steps((60, 1)),
        },
        labels=PLACE | POD | {"code": "grant_broken", "level": "warning"},
        summary="the cpuset of llm/chat-0 is not what the kubelet granted",
        description="llm/chat-0/vllm on gpu-7 was granted 16 CPUs of its own, and its cgroup allows 112: others than "
        "those, or such as another pod was granted alone. GPUs: GPU-1.",
    ),
    Fires(
        alert="NumaRemoteMemory",
        minute=60,
        given={finding("memory_remote", RANK): steps((90, 1)), ratio("memory"): steps((90, 0.27))},
        labels=PLACE | RANK | {"dimension": "memory"},
        summary="llm/chat-0 keeps 27% of its memory on the far socket",
        description="llm/chat-0/vllm, GPU GPU-1 on gpu-7: 27% of its private memory is on another socket than the "
        "GPU, for an hour.",
    ),
    Fires(
        alert="NumaRemoteCpuTime",
        minute=60,
        given={
            finding("cpu_remote", UNIT, uuid="GPU-1"): steps((90, 1)),
            ratio("cpu_time", UNIT, {"uuid": "GPU-1"}): steps((90, 0.5)),
        },
        labels=PLACE | UNIT | {"uuid": "GPU-1", "dimension": "cpu_time"},
        summary="vllm.service spends 50% of its CPU time on the far socket",
        description="vllm.service, GPU GPU-1 on gpu-7: 50% of its CPU time runs on another socket than the GPU, "
        "for an hour.",
    ),
    Fires(
        alert="NumaHostBuffersRemote",
        minute=60,
        given={finding("host_buffers_remote", RANK): steps((90, 1)), ratio("host_buffers"): steps((90, 1.0))},
        labels=PLACE | RANK | {"dimension": "host_buffers"},
        summary="llm/chat-0 has 100% of its pinned host buffers on the far socket",
        description="llm/chat-0/vllm, GPU GPU-1 on gpu-7: 100% of the buffers that the GPU copies from are on another "
        "socket. Pinned pages cannot be migrated: restart it bound.",
    ),
    Fires(
        alert="NumaCpusetOffHome",
        minute=30,
        given={finding("cpuset_off_home", RANK): steps((60, 1))},
        labels=PLACE | RANK | {"code": "cpuset_off_home", "level": "warning"},
        summary="llm/chat-0 may not use a single CPU near its GPU",
        description="llm/chat-0/vllm, GPU GPU-1 on gpu-7: 0% of the CPUs in its cpuset belong to the GPU's home, "
        "so everything it does on the host is remote.",
    ),
    Fires(
        alert="NumaRanksSwapped",
        minute=30,
        given={
            finding("rank_swapped", RANK): steps((60, 1)),
            ratio("memory"): steps((60, 0.2)),
            ratio("cpu_time"): steps((60, 0.9)),
            ratio("memory", POD, {"uuid": "GPU-2"}): steps((60, 0.1)),  # a well-placed neighbour is not named
        },
        labels=PLACE | RANK,
        summary="ranks of llm/chat-0 sit on each other's socket",
        description="llm/chat-0/vllm, GPU GPU-1 on gpu-7: 90% on the other's socket. The binding counts GPUs in "
        "another order than the driver does.",
    ),
    Fires(
        alert="NumaThreadsEscaped",
        minute=30,
        given={finding("threads_escaped", RANK, level="info"): steps((60, 1)), ratio("cpu_time"): steps((60, 0.08))},
        labels=PLACE | RANK | {"dimension": "cpu_time"},
        summary="threads of llm/chat-0 escaped the binding of its process",
        description="llm/chat-0/vllm, GPU GPU-1 on gpu-7: the process is bound near the GPU, yet 8% of its CPU time "
        "is on another socket.",
    ),
    Fires(
        alert="NumaLocalMemoryExhausted",
        minute=15,
        given={
            finding("local_memory_exhausted", numa_node="1"): steps((60, 1)),
            series("numa_rank_home_info", MACHINE, RANK, numa_node="1", socket="1"): steps((60, 1)),
            series("numa_rank_home_info", MACHINE, POD, numa_node="1", socket="1"): steps((60, 1)),  # helpers
            **memory_of("0", free=0.5),
            **memory_of("1", free=0.01),
        },
        labels=PLACE | {"numa_node": "1"},
        summary="NUMA node 1 of gpu-7 is full: new pages of its GPUs' workloads go elsewhere",
        description="1% of NUMA node 1 on gpu-7 is free and allocations meant for it land on other nodes. At home "
        "there: chat-0 GPU GPU-1;",
    ),
    Fires(
        alert="NumaGpuNodePolluted",
        minute=15,
        given={finding("gpu_node_polluted", numa_node="2", uuid="GPU-1"): steps((60, 1)), **memory_of("2", free=0.25)},
        labels=PLACE | {"numa_node": "2", "uuid": "GPU-1"},
        summary="host pages lie in GPU memory (NUMA node 2 of gpu-7)",
        description="NUMA node 2 on gpu-7 is the memory of GPU GPU-1 and holds pages of processes that do not use it; "
        "75% of the node is taken in all. They take room from the KV cache.",
    ),
    Fires(
        alert="NumaAdmissionHotLoop",
        minute=8,
        given={rejections("TopologyAffinityError", instance="10.0.0.7:10250"): "0+1x60"},
        labels=PLACE | {"instance": "10.0.0.7:10250"},
        summary="gpu-7 keeps rejecting pods that the scheduler keeps sending",
        description="The kubelet on gpu-7 rejected 8 pods in 30 minutes with TopologyAffinityError: GPUs are free "
        "there in sum, not on one socket. Each rejected pod stays behind as Failed.",
    ),
    Fires(
        alert="NumaCoverageLow",
        minute=30,
        given={
            series("numa_exporter_gpu_processes", MACHINE, state="attributed"): steps((60, 3)),
            series("numa_exporter_gpu_processes", MACHINE, state="denied"): steps((60, 1)),
            series("numa_exporter_gpu_processes", MACHINE, state="observer"): steps((60, 5)),
        },
        labels=PLACE,
        summary="only 75% of the GPU processes on gpu-7 could be given to a workload",
        description="On gpu-7 75% of the processes that hold a GPU are attributed to a workload. The others are not "
        "judged: silence about them means nothing.",
    ),
    Fires(
        alert="NumaSourceDown",
        minute=15,
        given=sources(60, up=0, read_every=None)
        | {series("numa_exporter_source_failures_total", MACHINE, source="nvml", failure="stuck"): steps((60, 4))},
        labels=PLACE | {"source": "nvml"},
        summary="the exporter on gpu-7 cannot read nvml",
        description="Source nvml of the exporter on gpu-7 has failed for 15 minutes; what depends on it is unknown, "
        "not good. Failures since the start: stuck 4;",
    ),
    Fires(
        alert="NumaReadingsStale",
        minute=14,
        given=sources(60, up=1, read_every=None),
        labels=PLACE | {"source": "nvml"},
        summary="readings of nvml on gpu-7 are 14m 0s old",
        description="The exporter on gpu-7 answers, but last read nvml 14m 0s ago. Its verdicts describe that moment.",
    ),
    Fires(
        alert="NumaExporterDown",
        minute=10,
        given=targets(up=30, down=1),
        labels={"cluster": "eu", "node": "gpu-0"},
        summary="no NUMA exporter answers on gpu-0",
        description="gpu-0 has GPUs or an exporter target, and no exporter has answered there for 10 minutes. "
        "Nothing is known about the placement of its workloads.",
    ),
    Fires(
        alert="NumaFleetUnwatched",
        minute=10,
        severity="page",
        given=targets(up=18, down=2),
        labels={"cluster": "eu"},
        others=frozenset({"NumaExporterDown"}),
        summary="no NUMA exporter answers on 10% of the machines",
        description="10% of the GPU machines are unwatched, so no other NUMA alert can fire there. "
        "Among them: gpu-0; gpu-1;",
    ),
]  # fmt: skip

SILENT = [
    Silent(
        near="NumaPlacementDrift",
        why="file pages: the far node holds the text of shared libraries, which enters no ratio and no floor",
        given={k: v for k, v in drifted().items() if "mapped_bytes" not in k}
        | {series("numa_rank_mapped_bytes", MACHINE, RANK, locality="remote", backing="file", numa_node="1"):
            steps((300, 9 * GIB))},
        minute=299,
    ),
    Silent(
        near="NumaPlacementDriftHurts",
        why="another pod of the namespace is slow: only drift is in this one, which the ticket-minded wait for",
        given=drifted() | {SLO_ALERT.replace("chat-0", "embed-0"): steps((300, 1))},
        rules=("drift", "rollups", "alerts", "pain"),
        fired=frozenset({"NumaPlacementDrift", "ChatTTFTBudgetBurn"}),
        minute=299,
    ),
    Silent(
        near="NumaPlacementDriftHurts",
        why="the pod is slow and well placed",
        given={k: steps((300, 0.0)) if "misalignment" in k else v for k, v in drifted().items()}
        | {SLO_ALERT: steps((300, 1))},
        rules=("drift", "rollups", "alerts", "pain"),
        fired=frozenset({"ChatTTFTBudgetBurn"}),
        minute=299,
    ),
    Silent(
        near="NumaCpusetOffHome",
        why="no home CPU but the home's socket is reached (SNC, NPS): the agent calls it info",
        given={finding("cpuset_off_home", RANK, level="info"): steps((120, 1))},
    ),
    Silent(
        near="NumaGrantBroken",
        why="the kubelet reconciled within two minutes",
        given={finding("grant_broken", POD): steps((2, 1), (198, None))},
    ),
    Silent(
        near="NumaRemoteMemory",
        why="container in start-up: the ratio is bad, the agent does not judge yet",
        given={ratio("memory"): steps((200, 0.9)),
               series("numa_rank_start_time_seconds", MACHINE, RANK): "0+60x199"},
    ),
    Silent(
        near="NumaRemoteMemory",
        why="cordoned machine",
        given=CORDONED | {finding("memory_remote", RANK): steps((200, 1)), ratio("memory"): steps((200, 0.27))},
    ),
    Silent(
        near="NumaRemoteMemory",
        why="declared as intended: the finding is shown as suppressed, and calls nobody",
        given={finding("memory_remote", RANK, suppressed="true"): steps((200, 1)), ratio("memory"): steps((200, 0.27))},
    ),
    Silent(
        near="NumaRemoteMemory",
        why="single-node machine: a note that there is nothing to align, and ratios of 0",
        given={finding("single_node", level="info"): steps((200, 1)),
               **{ratio(d): steps((200, 0.0)) for d in ("memory", "cpu_time", "host_buffers", "cpu_mask")}},
    ),
    Silent(
        near="NumaRemoteMemory",
        why="unknown affinity: no home, so no ratio and no verdict, only the note",
        given={finding("affinity_unknown", uuid="GPU-1", level="info"): steps((200, 1)),
               series("numa_gpu_affinity_known", MACHINE, uuid="GPU-1"): steps((200, 0))},
    ),
    Silent(
        near="NumaRemoteCpuTime",
        why="59 minutes, then clean: a batch of tokenisation is over before anybody could look",
        given={finding("cpu_remote", RANK): steps((59, 1), (141, None)), ratio("cpu_time"): steps((200, 0.5))},
    ),
    Silent(
        near="NumaHostBuffersRemote",
        why="the ratio alone is not the verdict: 40 % of 100 MiB is below the agent's floor",
        given={ratio("host_buffers"): steps((200, 0.4))},
    ),
    Silent(
        near="NumaCpusetOffHome",
        why="unconfined is not off home: half of the machine's CPUs are near the GPU",
        given={finding("cpuset_unconfined", RANK, level="info"): steps((200, 1)), ratio("cpu_mask"): steps((200, 0.5))},
    ),
    Silent(
        near="NumaRanksSwapped",
        why="one rank on the wrong side is remote, not swapped",
        given={finding("memory_remote", RANK): steps((50, 1)), ratio("memory"): steps((50, 0.9))},
        minute=59,
    ),
    Silent(
        near="NumaThreadsEscaped",
        why="the usual NCCL thread with an inherited mask: 3 % of the CPU time",
        given={finding("threads_escaped", RANK, level="info"): steps((200, 1)), ratio("cpu_time"): steps((200, 0.03))},
    ),
    Silent(
        near="NumaThreadsEscaped",
        why="spread, interrupts, unconfined containers: on the dashboard only",
        given={finding(code, RANK, level="info"): steps((200, 1))
               for code in ("gpus_span_sockets", "irq_remote", "cpuset_unconfined", "process_spans_sockets")}
        | {ratio("gpu_spread"): steps((200, 0.5)), ratio("irq"): steps((200, 1.0))},
    ),
    Silent(
        near="NumaLocalMemoryExhausted",
        why="a node full of page cache has little free memory and still serves its own allocations: no finding",
        given=memory_of("1", free=0.01),
    ),
    Silent(
        near="NumaGpuNodePolluted",
        why="the GPU's own processes fill its node: that is what it is for",
        given=memory_of("2", free=0.01),
    ),
    Silent(
        near="NumaAdmissionHotLoop",
        why="two rejections: somebody tried twice",
        given={rejections("TopologyAffinityError"): "0x9 1x9 2x180"},
    ),
    Silent(
        near="NumaAdmissionHotLoop",
        why="other reasons to reject a pod are not ours",
        given={rejections("OutOfcpu"): "0+1x200"},
    ),
    Silent(
        near="NumaCoverageLow",
        why="monitoring holds the GPUs too and is nobody's workload",
        given={series("numa_exporter_gpu_processes", MACHINE, state="attributed"): steps((200, 8)),
               series("numa_exporter_gpu_processes", MACHINE, state="unattributed"): steps((200, 0)),
               series("numa_exporter_gpu_processes", MACHINE, state="observer"): steps((200, 8))},
    ),
    Silent(
        near="NumaSourceDown",
        why="the driver was reloaded: ten minutes without NVML",
        given={series("numa_exporter_source_up", MACHINE, source="nvml"): steps((20, 1), (10, 0), (170, 1))},
    ),
    Silent(
        near="NumaReadingsStale",
        why="read every minute, although its interval says 30 s: the governor stretches costly sources",
        given=sources(200, up=1, read_every=1),
    ),
    Silent(
        near="NumaReadingsStale",
        why="a cordoned machine, its exporter frozen with it",
        given=CORDONED | sources(200, up=1, read_every=None) | sources(200, up=0, read_every=None),
    ),
    Silent(
        near="NumaExporterDown",
        why="rollout: the old pod's target is down, the new one answers for the same machine",
        given={series("up", MACHINE, instance="old:10062"): steps((60, 1), (140, 0)),
               series("up", MACHINE, instance="new:10062"): steps((60, None), (140, 1))},
    ),
    Silent(
        near="NumaExporterDown",
        why="cordoned machine with GPUs and no exporter",
        given=CORDONED | {series("kube_node_status_allocatable", PLACE, resource="nvidia_com_gpu"): steps((200, 8))},
    ),
    Silent(
        near="NumaExporterDown",
        why="a machine without GPUs needs no exporter",
        given={series("kube_node_status_allocatable", PLACE, resource="cpu"): steps((200, 64)),
               series("kube_node_status_allocatable", PLACE, resource="nvidia_com_gpu"): steps((200, 0))},
    ),
    Silent(
        near="NumaFleetUnwatched",
        why="one of a small fleet: more than 5 %, and still one machine",
        given=targets(up=9, down=1),
        fired=frozenset({"NumaExporterDown"}),
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", FIRES, ids=lambda c: c.alert)
def test_fires_exactly(case: Fires, promtool: str, tmp_path: Path) -> None:
    promtool_test(
        promtool, tmp_path, case.given, rules=case.rules,
        alerts={(case.alert, case.minute - 2): [], (case.alert, case.minute): [case.expected]},
        samples=[ever_fired(case.minute, case.alert, *case.others)],
    )  # fmt: skip


@pytest.mark.parametrize("case", SILENT, ids=lambda c: f"{c.near}: {c.why}")
def test_near_miss_is_silent(case: Silent, promtool: str, tmp_path: Path) -> None:
    promtool_test(
        promtool, tmp_path, case.given, rules=case.rules,
        samples=[ever_fired(case.minute, *case.fired)],
    )  # fmt: skip


@pytest.mark.parametrize("resource", ["nvidia_com_mig_1g_10gb", "nvidia_com_gpu_shared", "gpu_intel_com_i915"])
def test_gpu_machine_that_nobody_scrapes_is_down(resource: str, promtool: str, tmp_path: Path) -> None:
    """No target, so no `up`: Kubernetes' own word that there are GPUs is enough."""
    given = {series("kube_node_status_allocatable", PLACE, resource=resource): steps((60, 7))}
    firing = 'group by (cluster,node) (ALERTS{alertname="NumaExporterDown",alertstate="firing"})'
    samples = [Samples(expr=firing, minute=20, values={series("", PLACE): 1})]
    promtool_test(promtool, tmp_path, given, samples=samples)


def test_plain_host_is_named_by_its_instance(promtool: str, tmp_path: Path) -> None:
    """Targets without a `node` label must not fold into one machine."""
    given = {series("up", job="numa_exporter", instance=f"h{i}:10062"): steps((60, min(i, 1))) for i in range(3)}
    firing = 'group by (instance) (ALERTS{alertname="NumaExporterDown",alertstate="firing"})'
    samples = [Samples(expr=firing, minute=20, values={series("", instance="h0:10062"): 1})]
    promtool_test(promtool, tmp_path, given, samples=samples)


def test_a_unit_that_drifts_is_named_without_a_namespace(promtool: str, tmp_path: Path) -> None:
    pod = 'namespace="llm",pod="chat-0",container="vllm"'
    given = {name.replace(pod, 'unit="vllm.service"'): values for name, values in drifted().items()}
    expected = Alert(
        labels={"cluster": "eu", "workload": "vllm.service", "dimension": "memory", "severity": "page"},
        annotations={
            "summary": "vllm.service became remote (memory)",
            "description": "It was aligned and now is not: 100% of its ranks are bad beyond the usual share. Worst "
            "ranks: vllm.service GPU GPU-1 on gpu-7, 59% remote;",
            "runbook_url": "/docs/runbooks.md#numaplacementdrift",
        },
    )
    promtool_test(promtool, tmp_path, given, alerts={("NumaPlacementDrift", 200): [expected]})


def test_a_container_that_has_no_name_and_took_another_pods_cpus(promtool: str, tmp_path: Path) -> None:
    nameless = {"unit": "0123456789ab"}
    given = {
        finding("grant_broken", nameless): steps((60, 1)),
        series("numa_workload_cpuset_cpus", MACHINE, nameless, locality="local"): steps((60, 56)),
    }
    expected = Alert(
        labels=PLACE | nameless | {"code": "grant_broken", "level": "warning", "severity": "page"},
        annotations={
            "summary": "the cpuset of 0123456789ab is not what the kubelet granted",
            "description": "0123456789ab on gpu-7 was granted no CPUs of its own, and its cgroup allows 56: others "
            "than those, or such as another pod was granted alone. GPUs:.",
            "runbook_url": "/docs/runbooks.md#numagrantbroken",
        },
    )
    promtool_test(promtool, tmp_path, given, alerts={("NumaGrantBroken", 2): [expected]})


@pytest.mark.parametrize(
    "alert", ["NumaPlacementDrift", "NumaGrantBroken", "NumaLocalMemoryExhausted", "NumaSourceDown"]
)
def test_what_another_cluster_has_under_the_same_names_is_not_told(alert: str, promtool: str, tmp_path: Path) -> None:
    """One Prometheus, or one ruler, over two clusters whose machines and pods are called the same."""
    (case,) = (case for case in FIRES if case.alert == alert)
    calm = {name: values for name, values in case.given.items() if not name.startswith("numa_findings")}
    elsewhere = {
        name.replace('cluster="eu"', 'cluster="us"').replace("GPU-1", "GPU-9"): values
        for name, values in (case.given if alert == "NumaPlacementDrift" else calm).items()
        if "source_up" not in name
    }
    fired = {"eu": case.expected} | ({"us": _renamed(case.expected)} if alert == "NumaPlacementDrift" else {})
    promtool_test(promtool, tmp_path, {**case.given, **elsewhere}, alerts={(alert, case.minute): list(fired.values())})


@pytest.mark.parametrize("case", FIRES, ids=lambda c: c.alert)
def test_with_cluster_as_an_external_label_the_words_are_the_same(case: Fires, promtool: str, tmp_path: Path) -> None:
    """Then no series has it where the rules run: Prometheus adds it on the way out."""
    given = {name.replace('cluster="eu",', "").replace('cluster="eu"', ""): v for name, v in case.given.items()}
    labels = {name: value for name, value in case.expected.labels.items() if name != "cluster"}
    expected = Alert(labels=labels, annotations=case.expected.annotations)
    promtool_test(
        promtool, tmp_path, given, rules=case.rules,
        alerts={(case.alert, case.minute): [expected]}, external={"cluster": "eu"},
    )  # fmt: skip


def _renamed(alert: Alert) -> Alert:
    annotations = {name: text.replace("GPU-1", "GPU-9") for name, text in alert.annotations.items()}
    return Alert(labels=dict(alert.labels) | {"cluster": "us"}, annotations=annotations)


def test_old_kubelets_have_only_the_topology_managers_counter(promtool: str, tmp_path: Path) -> None:
    given = {series("kubelet_topology_manager_admission_errors_total", PLACE, instance="k"): "0+1x60"}
    samples = [ever_fired(30, "NumaAdmissionHotLoop")]
    promtool_test(promtool, tmp_path, given, samples=samples)


def test_every_alert_has_a_machine_that_fires_it_and_one_that_does_not() -> None:
    assert {case.alert for case in FIRES} == alerts().keys()
    assert {case.near for case in SILENT} == alerts().keys()


@pytest.mark.parametrize("name", sorted(alerts()))
def test_alert_is_complete(name: str) -> None:
    rule = alerts()[name]
    assert rule["labels"] in ({"severity": "page"}, {"severity": "ticket"})
    assert rule["for"]
    assert rule["keep_firing_for"]
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}


def test_only_these_wake_somebody() -> None:
    pages = {name for name, rule in alerts().items() if rule["labels"] == {"severity": "page"}}
    assert pages == {"NumaPlacementDrift", "NumaPlacementDriftHurts", "NumaGrantBroken", "NumaFleetUnwatched"}
