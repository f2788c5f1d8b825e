"""How people call what a cgroup path only numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class PodName:
    """A pod as kubectl shows it."""

    namespace: str
    pod: str


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ContainerName:
    """A container of a pod."""

    namespace: str
    pod: str
    container: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What files on this host tell. A container's id keeps its name for as long as it lives.

    ``pods``: every pod that has a log directory, by UID in lower case. ``containers``: pods' containers by id.
    ``sandboxes``: ids of containers that only hold a pod's namespaces.
    ``runtimes``: ``containerd`` or ``cri-o`` by container id, where the cgroup's path does not tell.
    ``units``: ``docker/NAME`` and ``podman/NAME`` by container id. ``slurm_jobs``: job id by SLUID.
    """

    pods: Mapping[str, PodName] = field(default_factory=dict)
    containers: Mapping[str, ContainerName] = field(default_factory=dict)
    sandboxes: frozenset[str] = frozenset()
    runtimes: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    slurm_jobs: Mapping[str, str] = field(default_factory=dict)
