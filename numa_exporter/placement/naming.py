"""Which key a workload goes by: its names as far as they are known, and always the same while it lives.

A name can come later than the first look (a source that hung), and two containers can claim one (a force-deleted pod
whose process is stuck, and its successor). So: a host's container keeps the key it was first shown under. A pod's may
once get the names that it lacked, and never loses one again. Where two claim the same names, they are the younger
one's, which is whom the API means, and the other goes by its id.
"""

from collections.abc import Iterable, Mapping

from numa_exporter.formats.workload_path import WorkloadPath
from numa_exporter.model.ids import WorkloadKey
from numa_exporter.model.kubelet import Grant
from numa_exporter.model.names import Names, PodName
from numa_exporter.model.processes import Process
from numa_exporter.placement.workloads import SHORT_ID, identity, key_of

Keys = Mapping[str, WorkloadKey]
"""By identity of a workload (placement.workloads)."""


def keys(processes: Iterable[Process], names: Names, grants: Iterable[Grant], before: Keys) -> Keys:
    """The keys of all workloads that are called otherwise than their cgroup path says, or were."""
    owners: dict[str, list[Process]] = {}
    for process in processes:
        if process.cgroup is not None and (own := identity(process.cgroup)):
            owners.setdefault(own, []).append(process)
    of_pod: dict[str, list[Grant]] = {}
    for grant in grants:
        of_pod.setdefault(grant.pod_uid or "", []).append(grant)
    found: dict[str, WorkloadKey] = {}
    for own, members in owners.items():
        path = members[0].cgroup
        assert path is not None, "it has an identity"
        told = _told(path, names, members, of_pod.get(path.pod_uid or "", ()))
        key = _settled(path, told, before.get(own))
        if key is not None:
            found[own] = key
    return _without_rivals(found, owners)


def job_of(path: WorkloadPath, names: Names) -> str | None:
    """The Slurm job's id, also where the path has a SLUID."""
    return names.slurm_jobs.get(path.slurm_job_id or "", path.slurm_job_id)


def _told(path: WorkloadPath, names: Names, members: Iterable[Process], grants: Iterable[Grant]) -> WorkloadKey | None:
    if path.kind in ("k8s-container", "pod-no-container"):
        return _in_pod(path, names, members, grants)
    if path.kind == "slurm-job":
        job = job_of(path, names)
        return WorkloadKey(unit="/".join(part for part in ("slurm", job, path.slurm_step) if part))
    unit = names.units.get(path.container_id or "")
    return WorkloadKey(unit=unit) if unit else key_of(path)


def _in_pod(
    path: WorkloadPath, names: Names, members: Iterable[Process], grants: Iterable[Grant]
) -> WorkloadKey | None:
    whole = names.containers.get(path.container_id or "")
    if whole is not None:
        return WorkloadKey(namespace=whole.namespace, pod=whole.pod, container=whole.container)
    pod = names.pods.get(path.pod_uid or "") or next(
        (
            PodName(namespace=grant.key.namespace, pod=grant.key.pod)
            for grant in grants
            if grant.key.namespace and grant.key.pod
        ),
        None,
    )
    container = _holder(members, grants) if path.kind == "k8s-container" else None
    if pod is None and container is None:
        return key_of(path)
    fallback = key_of(path)
    return WorkloadKey(
        namespace=pod.namespace if pod else None,
        pod=pod.pod if pod else None,
        container=container,
        # A pod has several containers: one that is not named must not be taken for another.
        unit=fallback.unit if fallback and path.kind == "k8s-container" and not (pod and container) else None,
    )


def _holder(members: Iterable[Process], grants: Iterable[Grant]) -> str | None:
    """The container of the pod that was granted a GPU on which these processes are; None unless it is only one."""
    held = {found.uuid for process in members for found in process.evidence if found.evidence != "fd"}
    holders = {grant.container for grant in grants if grant.container and held & {gpu.uuid for gpu in grant.gpus}}
    return holders.pop() if len(holders) == 1 else None


def _settled(path: WorkloadPath, told: WorkloadKey | None, before: WorkloadKey | None) -> WorkloadKey | None:
    if before is None or told is None:
        return told if before is None else before
    if path.kind not in ("k8s-container", "pod-no-container"):
        return before
    return told if _names(told) > _names(before) else before


def _names(key: WorkloadKey) -> int:
    return sum(part is not None for part in (key.namespace, key.pod, key.container))


def _without_rivals(found: dict[str, WorkloadKey], owners: Mapping[str, list[Process]]) -> Keys:
    claims: dict[WorkloadKey, list[str]] = {}
    for own, key in found.items():
        claims.setdefault(key, []).append(own)
    for key, rivals in claims.items():
        if len(rivals) > 1 and key.pod is not None:
            born = {own: min(process.key.start_ticks for process in owners[own]) for own in rivals}
            for own in sorted(rivals, key=lambda own: (born[own], own))[:-1]:
                path = owners[own][0].cgroup
                assert path is not None, "it has an identity"
                found[own] = key_of(path) or key._replace(unit=own[:SHORT_ID])
    return found
