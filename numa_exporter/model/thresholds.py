"""Every limit of a verdict, once: name, default, reason. Flags, gauges, docs and findings read this table."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import NamedTuple

MIB = 1 << 20
GIB = 1 << 30
KUBELET_ROOT = "/var/lib/kubelet"


class Limit(NamedTuple):
    """One row of the table, in base units (ratio, bytes, seconds, cores, events). ``share``: lies between 0 and 1."""

    name: str
    value: float
    default: float
    why: str
    share: bool


def limit(default: float, why: str, *, share: bool = False) -> float:
    """A field of Thresholds that carries its reason; typed as the float that it holds."""
    value: float = field(default=default, metadata={"why": why, "share": share})
    return value


def share(default: float, why: str) -> float:
    """A limit between 0 and 1: with 20 for 20 % a verdict would never be given, and nobody told."""
    return limit(default, why, share=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Limits in base units (ratio, bytes, seconds, cores). Field name = flag ``--threshold.NAME`` (dashes) = label."""

    memory: float = share(0.20, "share of private bytes on another socket; catches the real cases of 22 % and 27 %")
    memory_bytes: float = limit(512 * MIB, "and at least this many remote bytes")
    memory_resident_bytes: float = limit(GIB, "no verdict below this resident size")
    memory_error: float = share(0.05, "no verdict where the 95 % half-width of the remote share is wider")
    host_buffers: float = share(
        0.20, "share of shmem_anon + driver bytes on another socket: a quarter of a common pinned pool"
    )
    host_buffers_bytes: float = limit(64 * MIB, "and at least this many remote bytes")
    cpu_time: float = share(0.25, "share of CPU time on another socket; the estimator errs by up to 5.4 points")
    cpu_time_cores: float = limit(0.10, "and at least this many cores remote over the window")
    cpu_time_window_seconds: float = limit(300.0, "the window of the CPU-time verdict")
    cpu_time_used_seconds: float = limit(
        30.0, "the rank must have used this many CPU seconds in it: idle engines are random"
    )
    escaped_thread_cores: float = limit(0.01, "a thread outside home counts as escaped from this use on")
    escaped_warning_cores: float = limit(0.25, "escaped threads together: info below, warning from here")
    rank_age_seconds: float = limit(600.0, "a younger rank is loading: no verdict")
    gpu_memory_steady_seconds: float = limit(180.0, "unless its GPU memory was steady for this long")
    gpu_memory_steady: float = share(0.01, "what counts as steady, relative")
    evaluations: float = limit(3, "consecutive evaluations before a verdict")
    rank_swapped: float = share(0.60, "share that two ranks must have on each other's socket")
    cpuset_home: float = share(0.50, "share of home CPUs in the cpuset below which it is called unconfined")
    pages_before_policy: float = share(0.10, "remote share under a bind within home")
    pages_before_policy_bytes: float = limit(256 * MIB, "and at least this many remote bytes")
    grant_broken_seconds: float = limit(30.0, "three reconcile periods of the kubelet")
    local_memory_free_bytes: float = limit(GIB, "MemFree of the home node below max(this, the ratio below)")
    local_memory_free: float = share(0.02, "MemFree as share of MemTotal")
    local_memory_foreign_pages: float = limit(16384, "and this many numa_foreign events in 5 minutes")
    gpu_node_bytes: float = limit(GIB, "foreign pages on a GPU's own memory node")
    gpu_node_seconds: float = limit(600.0, "for this long")
    irq_remote: float = share(0.50, "share of fired interrupts served on another socket")
    irq_rate: float = limit(1000.0, "and at least this many interrupts per second")
    pcie_seconds: float = limit(600.0, "narrower than both ends allow for this long")
    small_flow: float = limit(
        256 * MIB, "bytes a second to a GPU below which placement is unlikely to matter: 1 % of a Gen4 x16 link"
    )


def limits(thresholds: Thresholds) -> Iterator[Limit]:
    """Every limit in the table's order."""
    for spec in fields(thresholds):
        value = float(getattr(thresholds, spec.name))
        default = float(getattr(Thresholds(), spec.name))
        yield Limit(spec.name, value, default, spec.metadata["why"], spec.metadata["share"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a person chose on the command line and a report depends on.

    ``gpu_min_holding_bytes``: a second GPU is main from this size on. ``excluded_workloads``: regular expressions
    matched against the workload's name. ``memory_method``: auto, walk or sample. ``every_look``: the few looks of a
    report or snapshot, in which readers that otherwise rotate and pace themselves read everything each time.
    ``kubelet_root``: the kubelet's own folder (logical). ``cri_socket``: whether the runtime is asked for names that
    no file tells, and where; None = never.
    """

    thresholds: Thresholds = field(default_factory=Thresholds)
    gpu_min_holding_bytes: int = 1536 * MIB
    gpu_min_holding_ratio: float = 0.10
    excluded_workloads: tuple[str, ...] = ()
    memory_method: str = "auto"
    every_look: bool = False
    kubelet_root: str = KUBELET_ROOT
    cri_socket: str | None = None
