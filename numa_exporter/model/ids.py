"""Identities. A PID is reused, an ordinal moves, a container keeps its name: these are the keys that hold.

They are tuples, for a join looks them up by the thousand: the hash of a frozen dataclass is computed in Python.
"""

from typing import Literal, NamedTuple

CpuSet = frozenset[int]
NodeSet = frozenset[int]

Locality = Literal["local", "socket", "remote", "device"]
"""Against a home: a home node, another node of a home socket, another socket, the rank's own GPU memory."""

Backing = Literal["anon", "file", "shmem_anon", "shmem", "hugetlb", "driver"]
Dimension = Literal[
    "cpu_time", "memory", "host_buffers", "cpu_mask", "memory_mask", "shared_memory", "irq", "gpu_spread"
]
JUDGED: tuple[Dimension, ...] = ("cpu_time", "memory", "host_buffers")
"""The dimensions that carry a verdict; the others are possibility or information."""


class ProcessKey(NamedTuple):
    """A process and no other that got its PID later: start time in clock ticks since boot (stat, field 22)."""

    pid: int
    start_ticks: int


class WorkloadKey(NamedTuple):
    """The label set W. A Kubernetes container fills the first three, a host workload fills ``unit``.

    Where no names are known a pod's container falls back to its uid and id, which WorkloadInfo carries, and
    ``unit`` holds the container's short id so that the key stays unique.
    """

    namespace: str | None = None
    pod: str | None = None
    container: str | None = None
    unit: str | None = None

    def __str__(self) -> str:
        if self.pod is not None:
            return "/".join(part for part in (self.namespace, self.pod, self.container) if part)
        return self.unit or self.container or "unknown"


class RankKey(NamedTuple):
    """A rank of a workload: the lowest UUID of its main GPUs. ``uuid`` None = the helpers together."""

    workload: WorkloadKey
    uuid: str | None
