"""The Report as one JSON document (schema numa-exporter/report/1): report --json, /api/v1/report, the bundle's report.

CPU and node sets are kernel list text, unknown is null. Keys may be added, never renamed within a schema number.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

from numa_exporter.formats import idlist
from numa_exporter.formats.workload_path import shown
from numa_exporter.model.health import SourceHealth
from numa_exporter.model.ids import Dimension, Locality, WorkloadKey
from numa_exporter.model.placement import (
    CpuTime,
    Machine,
    PlacedGpu,
    PlacedNode,
    PlacedProcess,
    Placement,
    Rank,
    Workload,
)
from numa_exporter.model.processes import Sampling
from numa_exporter.model.promises_document import section
from numa_exporter.model.recording import Json
from numa_exporter.model.report import Finding, Report, Verdict
from numa_exporter.model.thresholds import limits

SCHEMA = "numa-exporter/report/1"


def document(report: Report) -> dict[str, Json]:
    """The whole document, ready for json.dumps."""
    placement = report.placement
    machine = placement.machine
    return {
        "schema": SCHEMA,
        "taken_at": timestamp(placement.taken_at),
        "mode": placement.host.mode,
        "host": {
            "nodename": placement.host.nodename,
            "boot_id": placement.host.boot_id,
            "kernel": placement.host.kernel,
            "cgroup": placement.cgroup_layout,
            "exporter": report.exporter,
            "driver_version": machine.driver_version if machine else None,
        },
        "thresholds": {limit.name: limit.value for limit in limits(report.settings.thresholds)},
        "machine": _machine(machine) if machine else None,
        "gpus": [_gpu(placed) for placed in machine.gpus] if machine and machine.gpus_known else None,
        "observers": [
            {"pid": seen.key.pid, "comm": seen.comm, "gpus": list(seen.gpus), **_names(seen.workload)}
            for seen in placement.observers
        ],
        "attribution": {
            "attributed": placement.attribution.attributed,
            "unattributed": placement.attribution.unattributed,
            "denied": placement.attribution.denied,
            "observer": placement.attribution.observer,
        },
        "kubelet": section(placement.promises),
        "workloads": [_workload(workload, report) for workload in placement.workloads],
        "findings": [_finding(finding) for finding in report.findings],
        "sources": {name: _source(health, placement) for name, health in report.health.items()},
        "sampling": _sampling(placement.sampling) if placement.sampling else None,
    }


def timestamp(seconds: float | None) -> str | None:
    """Wall-clock seconds as RFC 3339 in UTC, to the second."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _machine(machine: Machine) -> Json:
    return {
        "nodes": [_node(placed) for placed in machine.nodes],
        "sockets": [
            {
                "id": socket.id,
                "cpus": idlist.render(socket.cpus),
                "nodes": list(socket.nodes),
                "cpu_utilization_ratio": socket.utilization,
            }
            for socket in machine.sockets
        ],
        "devices": [
            {
                "name": placed.device.name,
                "class": placed.device.device_class,
                "pci_bus_id": placed.device.function.address.bus_id,
                "numa_node": placed.device.function.numa_node,
            }
            for placed in machine.devices
            if placed.device.device_class != "gpu"
        ],
        "paths": [{"a": path.uuid, "b": path.peer, "path": path.path} for path in machine.paths],
        "sockets_unknown": machine.sockets_unknown,
        "virtual": machine.virtual,
        "numa_balancing": machine.balancing.mode,
    }


def _node(placed: PlacedNode) -> Json:
    memory = placed.node.memory
    return {
        "id": placed.id,
        "socket": placed.socket,
        "kind": placed.kind,
        "cpus": idlist.render(placed.node.cpus),
        "memory_bytes": memory.total_bytes if memory else None,
        "memory_free_bytes": memory.free_bytes if memory else None,
        "memory_reclaimable_bytes": memory.reclaimable_bytes if memory else None,
        "distances": _by_id(placed.node.distances),
    }


def _gpu(placed: PlacedGpu) -> Json:
    gpu = placed.gpu
    return {
        "uuid": gpu.uuid,
        "index": gpu.index,
        "pci_bus_id": gpu.address.bus_id if gpu.address else None,
        "model": gpu.model,
        "vendor": gpu.vendor,
        "affinity": list(placed.affinity),
        "affinity_source": placed.source,
        "memory_node": gpu.memory_node,
        "mig": [
            {"uuid": mig.uuid, "gpu_instance_id": mig.gpu_instance_id, "compute_instance_id": mig.compute_instance_id}
            for mig in gpu.mig
        ],
    }


def _workload(workload: Workload, report: Report) -> Json:
    cgroup = workload.cgroup
    return {
        **_names(workload.key),
        "pod_uid": workload.pod_uid,
        "container_id": workload.container_id,
        "runtime": workload.runtime,
        "qos_class": workload.qos_class,
        "slurm_job_id": workload.slurm_job_id,
        "slurm_step": workload.slurm_step,
        "cpuset_cpus": idlist.render(cgroup.cpus) if cgroup and cgroup.cpus is not None else None,
        "cpuset_mems": idlist.render(cgroup.mems) if cgroup and cgroup.mems is not None else None,
        "charged": (
            {backing: _by_id(nodes) for backing, nodes in cgroup.charged.items()}
            if cgroup and cgroup.charged is not None
            else None
        ),
        "notes": list(workload.notes),
        "helpers": _helpers(workload),
        "ranks": [_rank(rank, report.verdicts.get(rank.key, {})) for rank in workload.ranks],
    }


def _names(key: WorkloadKey | None) -> dict[str, Json]:
    """The label set W."""
    return {
        "namespace": key.namespace if key else None,
        "pod": key.pod if key else None,
        "container": key.container if key else None,
        "unit": key.unit if key else None,
    }


def _helpers(workload: Workload) -> list[Json]:
    """One entry per helper process; their home is that of the helpers together."""
    together = workload.helpers
    if together is None:
        return []
    return [
        {
            "pid": process.key.pid,
            "start_ticks": process.key.start_ticks,
            "comm": process.comm,
            "home": sorted(together.home),
            "cpu_seconds": None if process.cpu_seconds is None else _seconds(process.cpu_seconds),
        }
        for process in together.processes
    ]


def _rank(rank: Rank, verdicts: Mapping[Dimension, Verdict]) -> Json:
    return {
        "uuid": rank.key.uuid,
        "gpus": list(rank.gpus),
        "home": sorted(rank.home),
        "memory_home": sorted(rank.memory_home),
        "start_time": timestamp(rank.start_time),
        "processes": [_process(process) for process in rank.processes],
        "mapped": None if rank.mapped is None else {backing: _by_id(nodes) for backing, nodes in rank.mapped.items()},
        "mapped_method": rank.method,
        "mapped_error_ratio": rank.error,
        "mapped_withheld": rank.withheld,
        "policy": rank.policy,
        "allowed_cpus": _by_word(rank.allowed_cpus),
        "threads": _by_word(rank.threads),
        "escaped_threads": rank.escaped_threads,
        "cpu_seconds": _by_node(rank.cpu_window) if rank.cpu_known else None,
        "cpu_moved_seconds": round(rank.cpu_window.moved_seconds, 3) if rank.cpu_known else None,
        "cpu_window_seconds": round(rank.cpu_window_seconds, 3) if rank.cpu_known else None,
        "cpu_seconds_total": _by_node(rank.cpu) if rank.cpu_known else None,
        "not_judged": {dimension: v.not_judged for dimension, v in verdicts.items() if v.not_judged is not None},
        "misalignment": _by_word(rank.misalignment),
        "misaligned": {dimension: v.misaligned for dimension, v in verdicts.items() if v.misaligned is not None},
        "unjudged": rank.unjudged,
        "low_confidence": rank.low_confidence,
    }


def _by_node(cpu: CpuTime) -> Json:
    by_node: dict[int, float] = {}
    for (node, _), seconds in cpu.seconds.items():
        by_node[node] = by_node.get(node, 0.0) + seconds
    return _seconds(by_node)


def _seconds(by_node: Mapping[int, float]) -> dict[str, Json]:
    return {str(node): round(seconds, 3) for node, seconds in sorted(by_node.items())}


def _process(process: PlacedProcess) -> Json:
    return {
        "pid": process.key.pid,
        "start_ticks": process.key.start_ticks,
        "comm": process.comm,
        "evidence": process.evidence,
        "main": [holding.uuid for holding in process.holdings if holding.role == "main"],
        "stray": [holding.uuid for holding in process.holdings if holding.role == "stray"],
        "used_bytes": {holding.uuid: holding.used_bytes for holding in process.holdings},
    }


def _finding(finding: Finding) -> Json:
    subject = finding.subject
    return {
        "code": finding.code,
        "level": finding.level,
        "subject": {
            **_names(subject.workload),
            "uuid": subject.uuid,
            "numa_node": subject.numa_node,
            "device": subject.device,
        },
        "sentence": finding.sentence,
        "value": finding.value,
        "limit": finding.limit,
        "window_seconds": finding.window_seconds,
        "since": timestamp(finding.since),
        "confidence": finding.confidence,
        "evidence": [{"path": shown(evidence.path), "line": shown(evidence.line)} for evidence in finding.evidence],
        "remedy": finding.remedy,
        "remedy_note": finding.remedy_note,
        "suppressed": (
            {"reason": finding.suppressed.reason, "until": finding.suppressed.until} if finding.suppressed else None
        ),
    }


def _source(health: SourceHealth, placement: Placement) -> Json:
    failure = health.failure
    age = None if health.read_at is None else max(0.0, round(placement.taken_at - health.read_at, 3))
    return {
        "up": health.up,
        "failure": failure.word if failure else None,
        "detail": f"{failure.path}: {failure.detail}" if failure else None,
        "duration_seconds": health.duration,
        "age_seconds": age,
    }


def _sampling(sampling: Sampling) -> Json:
    return {"means": sampling.means, "obstacle": sampling.obstacle}


def _by_id(values: Mapping[int, int]) -> dict[str, Json]:
    return {str(key): value for key, value in sorted(values.items())}


def _by_word(values: Mapping[Locality, int] | Mapping[Dimension, float] | None) -> Json:
    return None if values is None else {str(word): value for word, value in values.items()}
