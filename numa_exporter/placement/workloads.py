"""Whose a process is: the workload of its cgroup path."""

import re

from numa_exporter.formats.workload_path import WorkloadPath
from numa_exporter.model.ids import WorkloadKey
from numa_exporter.model.thresholds import Settings

SHORT_ID = 12


def key_of(path: WorkloadPath | None) -> WorkloadKey | None:
    """What the path alone says; names are placement.naming's. None for a process that is nobody's: no cgroup, or one
    that contradicts itself.

    A pod's container goes by its short id, and a pod's own overhead (where Kata keeps its virtual machine) by the
    pod's uid.
    """
    if path is None or path.kind == "ambiguous":
        return None
    if path.kind == "k8s-container" and path.container_id:
        return WorkloadKey(unit=path.container_id[:SHORT_ID])
    if path.kind == "pod-no-container" and path.pod_uid:
        return WorkloadKey(unit=f"pod/{path.pod_uid}")
    return WorkloadKey(unit=path.unit) if path.unit else None


def identity(path: WorkloadPath) -> str | None:
    """What tells a workload that has names of its own from all others on this host; None for any other."""
    if path.kind in ("k8s-container", "container"):
        return path.container_id
    if path.kind == "pod-no-container":
        return f"pod/{path.pod_uid}"
    return path.directory if path.kind == "slurm-job" else None


def excluded(key: WorkloadKey, settings: Settings) -> bool:
    """Whether ``--workload.exclude`` names it: regular expressions for all of namespace/pod/container, or the unit."""
    return any(re.fullmatch(pattern, str(key)) for pattern in settings.excluded_workloads)
