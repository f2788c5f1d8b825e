"""Which workloads there are and whom they are made of, before anything is set against a home."""

from collections.abc import Mapping
from dataclasses import dataclass

from numa_exporter.formats.workload_path import WorkloadPath
from numa_exporter.model.ids import WorkloadKey
from numa_exporter.placement.ownership import Member
from numa_exporter.placement.ranks import Groups, group


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A workload to place. ``gpus`` are those of its ranks together; of a container without a GPU, those of its pod.
    ``directory`` is the container's cgroup."""

    key: WorkloadKey
    path: WorkloadPath
    directory: str | None
    groups: Groups
    gpus: tuple[str, ...]


def plans(members: Mapping[WorkloadKey, tuple[Member, ...]]) -> tuple[Plan, ...]:
    """The workloads that hold a GPU, and the other containers of their pods."""
    groups = {key: group(own) for key, own in members.items()}
    gpus_of_pod: dict[str, frozenset[str]] = {}
    for key, own in members.items():
        pod = _path(own).pod_uid
        if pod is not None:
            gpus_of_pod[pod] = gpus_of_pod.get(pod, frozenset()) | _gpus(groups[key])
    found = []
    for key, own in members.items():
        path = _path(own)
        in_pod = gpus_of_pod.get(path.pod_uid or "", frozenset()) if path.kind == "k8s-container" else frozenset()
        gpus = _gpus(groups[key]) or in_pod
        if gpus:
            found.append(
                Plan(
                    key=key,
                    path=path,
                    directory=own[0].process.container_cgroup,
                    groups=groups[key],
                    gpus=tuple(sorted(gpus)),
                )
            )
    return tuple(found)


def _gpus(groups: Groups) -> frozenset[str]:
    return frozenset().union(*(rank.gpus for rank in groups.ranks))


def _path(members: tuple[Member, ...]) -> WorkloadPath:
    """A workload's members have a path: their key was made of it."""
    path = members[0].process.cgroup
    assert path is not None
    return path
