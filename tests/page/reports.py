"""Report documents for the tests: nine stored machines, and small ones built key by key."""

import json
from pathlib import Path
from typing import Any

DOCUMENTS = Path(__file__).parent / "documents"
NAMES = sorted(path.stem for path in DOCUMENTS.glob("*.json"))
GIB = 1 << 30

Json = dict[str, Any]


def stored(name: str) -> Json:
    document: Json = json.loads((DOCUMENTS / f"{name}.json").read_text())
    return document


def node(node_id: int, socket: int | None, **other: Any) -> Json:
    return {
        "id": node_id,
        "socket": socket,
        "kind": "cpu",
        "cpus": f"{node_id * 8}-{node_id * 8 + 7}",
        "memory_bytes": 100 * GIB,
        "memory_free_bytes": 30 * GIB,
        "memory_reclaimable_bytes": 20 * GIB,
        "distances": {str(node_id): 10, str(1 - node_id): 21},
        **other,
    }


def gpu(number: int, *affinity: int, **other: Any) -> Json:
    return {
        "uuid": f"GPU-{number}",
        "index": number,
        "pci_bus_id": f"00000000:{0x10 + number:02X}:00.0",
        "model": "NVIDIA L40S",
        "affinity": list(affinity),
        "memory_node": None,
        **other,
    }


def rank(index: int, home: list[int], **other: Any) -> Json:
    """All at home on the first node of `home`, unless told otherwise."""
    first = str(home[0]) if home else "0"
    return {
        "uuid": f"GPU-{index}",
        "gpus": [f"GPU-{index}"],
        "home": home,
        "mapped": {"anon": {first: 4 * GIB}, "driver": {first: GIB}},
        "cpu_seconds": {first: 100.0},
        "not_judged": {},
        "misalignment": {"cpu_time": 0.0, "memory": 0.0, "host_buffers": 0.0},
        "misaligned": {"cpu_time": False, "memory": False, "host_buffers": False},
        **other,
    }


def workload(name: str, *ranks: Json, **other: Any) -> Json:
    return {
        "namespace": "serving",
        "pod": name,
        "container": "engine",
        "unit": None,
        "cpuset_cpus": "0-15",
        "helpers": [],
        "ranks": list(ranks),
        **other,
    }


def finding(code: str, pod: str | None = None, **other: Any) -> Json:
    subject = {"namespace": "serving", "pod": pod, "container": "engine", "uuid": "GPU-0"} if pod else {}
    return {
        "code": code,
        "level": "warning",
        "subject": subject,
        "sentence": f"The sentence of {code}.",
        "value": 0.5,
        "limit": 0.2,
        "window_seconds": 45,
        "since": "2026-01-31T11:21:00Z",
        "confidence": "high",
        "evidence": [{"path": "/proc/42/numa_maps", "line": "N0=7"}],
        "remedy": f"the remedy of {code}",
        "remedy_note": None,
        "suppressed": None,
        **other,
    }


def report(*workloads: Json, **other: Any) -> Json:
    """Two sockets of one node each, a GPU on each."""
    return {
        "schema": "numa-exporter/report/1",
        "taken_at": "2026-01-31T12:00:00Z",
        "mode": "live",
        "host": {"nodename": "gpu-n017", "kernel": "6.8.0"},
        "thresholds": {"memory": 0.2},
        "machine": machine(node(0, 0), node(1, 1)),
        "gpus": [gpu(0, 0), gpu(1, 1)],
        "observers": [],
        "workloads": list(workloads),
        "findings": [],
        "sources": {"nvml": {"up": True, "failure": None, "duration_seconds": 0.01, "age_seconds": 6}},
        **other,
    }


def machine(*nodes: Json, **other: Any) -> Json:
    sockets = sorted({n["socket"] for n in nodes if n["socket"] is not None})
    return {
        "nodes": list(nodes),
        "sockets": [{"id": socket, "cpu_utilization_ratio": 0.25} for socket in sockets],
        "devices": [],
        "paths": [],
        **other,
    }


def swapped_memory(index: int = 0) -> Json:
    """A rank at home on node 0 with three quarters of its memory and a tenth of its CPU time on node 1."""
    return rank(
        index,
        [0],
        mapped={"anon": {"0": 2 * GIB, "1": 6 * GIB}},
        cpu_seconds={"0": 270.0, "1": 30.0},
        misalignment={"cpu_time": 0.1, "memory": 0.75, "host_buffers": 0.0},
        misaligned={"memory": True},
    )


def everything() -> Json:
    """A small report in which every key of the contract that the page reads has a value."""
    helper = {"pid": 40102, "comm": "vllm serve", "home": [0, 1], "cpu_seconds": {"0": 1.0}}
    devices = [{"name": "mlx5_0", "class": "rdma", "numa_node": 0}]
    paths = [{"a": "GPU-0", "b": "mlx5_0", "path": "PIX"}]
    spare = node(2, 1, kind="gpu", cpus="")
    return report(
        workload("bad", swapped_memory(), helpers=[helper]),
        workload("young", rank(1, [1], not_judged={"cpu_time": "needs 5 min"})),
        machine=machine(node(0, 0), node(1, 1), spare, devices=devices, paths=paths),
        gpus=[gpu(0, 0), gpu(1, 1, memory_node=2)],
        observers=[{"pid": 1, "comm": "nv-hostengine", "gpus": ["GPU-0"]}],
        findings=[
            finding("memory_remote", "bad", remedy_note="needs a restart"),
            finding("cpu_remote", "bad", suppressed={"reason": "meant so", "until": "2026-03-31"}),
            finding("local_memory_exhausted", subject={"numa_node": 1, "device": None}),
        ],
    )
