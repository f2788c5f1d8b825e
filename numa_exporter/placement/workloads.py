"""Whose a process is: the workload of its cgroup path, by the names that are known."""

import re
from collections.abc import Iterable

from numa_exporter.formats.workload_path import WorkloadPath
from numa_exporter.model.ids import WorkloadKey
from numa_exporter.model.thresholds import Settings

_SHORT_ID = 12


def key_of(path: WorkloadPath | None) -> WorkloadKey | None:
    """None for a process that is nobody's: no cgroup, or one that contradicts itself.

    A pod's container goes by its short id, and a pod's own overhead (where Kata keeps its virtual machine) by the
    pod's uid.
    """
    if path is None or path.kind == "ambiguous":
        return None
    if path.kind == "k8s-container" and path.container_id:
        return WorkloadKey(unit=path.container_id[:_SHORT_ID])
    if path.kind == "pod-no-container" and path.pod_uid:
        return WorkloadKey(unit=f"pod/{path.pod_uid}")
    return WorkloadKey(unit=path.unit) if path.unit else None


def excluded(key: WorkloadKey, settings: Settings) -> bool:
    """Whether ``--workload.exclude`` names it: regular expressions for all of namespace/pod/container, or the unit."""
    return any(re.fullmatch(pattern, str(key)) for pattern in settings.excluded_workloads)


def pods_of(paths: Iterable[WorkloadPath | None]) -> frozenset[str]:
    """The uids of the pods among these paths."""
    return frozenset(path.pod_uid for path in paths if path and path.pod_uid)
