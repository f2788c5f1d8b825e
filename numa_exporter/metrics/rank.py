"""Ranks: home, threads, CPU time, pages, and what of it is remote."""

from collections.abc import Iterator

from numa_exporter.metrics.row import LabelValue, Row, Sample, View, W, workload_labels
from numa_exporter.model.ids import Locality
from numa_exporter.model.placement import Machine, Rank

KEY = (*W, "uuid")


def _key(rank: Rank) -> tuple[LabelValue, ...]:
    return (*workload_labels(rank.key.workload), rank.key.uuid)


def _ranks(view: View) -> Iterator[Rank]:
    for workload in view.report.placement.workloads:
        yield from workload.ranks
        if workload.helpers:
            yield workload.helpers


def _home(view: View) -> Iterator[Sample]:
    machine = view.report.placement.machine
    for rank in _ranks(view):
        for node in sorted(rank.home):
            placed = machine.node(node) if machine else None
            yield (*_key(rank), node, placed.socket if placed else None), 1


def _start_time(view: View) -> Iterator[Sample]:
    for rank in _ranks(view):
        if rank.start_time is not None:
            yield _key(rank), rank.start_time


def _allowed(view: View) -> Iterator[Sample]:
    for rank in _ranks(view):
        for locality, count in (rank.allowed_cpus or {}).items():
            yield (*_key(rank), locality), count


def _threads(view: View) -> Iterator[Sample]:
    for rank in _ranks(view):
        for locality, count in (rank.threads or {}).items():
            yield (*_key(rank), locality), count


def _escaped(view: View) -> Iterator[Sample]:
    for rank in _ranks(view):
        if rank.escaped_threads is not None:
            yield _key(rank), rank.escaped_threads


def _cpu_seconds(view: View) -> Iterator[Sample]:
    for rank in _ranks(view):
        if rank.cpu_known:
            for (node, locality), seconds in rank.cpu.seconds.items():
                yield (*_key(rank), node, locality), seconds


def _cpu_moved(view: View) -> Iterator[Sample]:
    for rank in _ranks(view):
        if rank.cpu_known:
            yield _key(rank), rank.cpu.moved_seconds


def _mapped(view: View) -> Iterator[Sample]:
    machine = view.report.placement.machine
    for rank in _ranks(view):
        for backing, by_node in (rank.mapped or {}).items():
            zeros = _always_shown(machine, rank)
            for node, count in {**dict.fromkeys(zeros, 0), **by_node}.items():
                if count or node in zeros:
                    yield (*_key(rank), node, rank.mapped_locality.get(node), backing), count


def _always_shown(machine: Machine | None, rank: Rank) -> frozenset[int]:
    """Nodes whose zero is a known zero: ordinary nodes with memory whose locality is known. Nobody judges helpers by
    their zeros, which would be a tenth of all series of a host with eight nodes."""
    if rank.key.uuid is None:
        return frozenset()
    known: tuple[Locality, ...] = ("local", "socket", "remote")
    return frozenset(
        placed.id
        for placed in (machine.nodes if machine else ())
        if placed.kind == "cpu" and placed.has_memory and rank.mapped_locality.get(placed.id) in known
    )


def _mapped_error(view: View) -> Iterator[Sample]:
    for rank in _ranks(view):
        if rank.error is not None:
            yield _key(rank), rank.error


def _method(view: View) -> Iterator[Sample]:
    for rank in _ranks(view):
        if rank.method is not None:
            yield (*_key(rank), rank.method), 1


def _policy(view: View) -> Iterator[Sample]:
    for rank in _ranks(view):
        if rank.policy is not None:
            mode, _, nodes = rank.policy.partition(":")
            yield (*_key(rank), mode, nodes or None), 1


def _policy_bytes(view: View) -> Iterator[Sample]:
    for rank in _ranks(view):
        for policy, count in (rank.policy_bytes or {}).items():
            yield (*_key(rank), policy), count


def _ratio(view: View) -> Iterator[Sample]:
    for rank in _ranks(view):
        for dimension, ratio in rank.misalignment.items():
            yield (*_key(rank), dimension), ratio


def _misaligned(view: View) -> Iterator[Sample]:
    for rank in _ranks(view):
        for dimension, verdict in view.report.verdicts.get(rank.key, {}).items():
            if verdict.misaligned is not None:
                yield (*_key(rank), dimension), int(verdict.misaligned)


ROWS = (
    Row(
        name="numa_rank_home_info",
        kind="gauge",
        labels=(*KEY, "numa_node", "socket"),
        help="A home node of the rank: nearest to its main GPUs. One series per node.",
        samples=_home,
    ),
    Row(
        name="numa_rank_start_time_seconds",
        kind="gauge",
        labels=KEY,
        help="Start of the rank's oldest process, unix time. /proc/PID/stat.",
        samples=_start_time,
    ),
    Row(
        name="numa_rank_allowed_cpus",
        kind="gauge",
        labels=(*KEY, "locality"),
        help="CPUs in the union of the threads' masks: possibility, not placement. sched_getaffinity.",
        samples=_allowed,
    ),
    Row(
        name="numa_rank_threads",
        kind="gauge",
        labels=(*KEY, "locality"),
        help="Threads that ran in the last window, by the CPU last run on; of a process whose masks lie in one node "
        "all of them, for they are not read. /proc/PID/task/TID/stat.",
        samples=_threads,
    ),
    Row(
        name="numa_rank_escaped_threads",
        kind="gauge",
        labels=KEY,
        help="Busy threads that may run outside the home that the rank is bound to. sched_getaffinity.",
        samples=_escaped,
    ),
    Row(
        name="numa_rank_cpu_seconds_total",
        kind="counter",
        labels=(*KEY, "numa_node", "locality"),
        help="CPU time credited to the node seen, since the agent first saw the process; sampled where threads may "
        "move between nodes. /proc/PID/task/TID/schedstat, cpuacct.usage_percpu.",
        samples=_cpu_seconds,
    ),
    Row(
        name="numa_rank_cpu_moved_seconds_total",
        kind="counter",
        labels=KEY,
        help="The part of it whose thread changed node between looks: the uncertainty.",
        samples=_cpu_moved,
    ),
    Row(
        name="numa_rank_mapped_bytes",
        kind="gauge",
        labels=(*KEY, "numa_node", "locality", "backing"),
        help="Bytes that the rank's processes map, shared pages once per process; driver-mapped host memory only where "
        "the driver inserts struct pages. /proc/PID/numa_maps, move_pages (sampled).",
        samples=_mapped,
    ),
    Row(
        name="numa_rank_mapped_error_ratio",
        kind="gauge",
        labels=KEY,
        help="95 % half-width of the remote share of memory; 0 when walked in full.",
        samples=_mapped_error,
    ),
    Row(
        name="numa_rank_memory_method_info",
        kind="gauge",
        labels=(*KEY, "method"),
        help="How the pages were read: walk or sample.",
        samples=_method,
    ),
    Row(
        name="numa_rank_policy_info",
        kind="gauge",
        labels=(*KEY, "policy", "nodes"),
        help="Effective memory policy of the rank's leader. First word of /proc/PID/numa_maps.",
        samples=_policy,
    ),
    Row(
        name="numa_rank_policy_bytes",
        kind="gauge",
        labels=(*KEY, "policy"),
        help="Mapped bytes by the policy of their mapping; only where walked in full. /proc/PID/numa_maps.",
        samples=_policy_bytes,
    ),
    Row(
        name="numa_rank_misalignment_ratio",
        kind="gauge",
        labels=(*KEY, "dimension"),
        help="Remote share of a dimension: 0 nothing remote, 1 all. cpu_time, memory, host_buffers are placement; the "
        "others possibility or information.",
        samples=_ratio,
    ),
    Row(
        name="numa_rank_misaligned",
        kind="gauge",
        labels=(*KEY, "dimension"),
        help="1 where the verdict is against the grain, 0 where judged and not; absent where not judged.",
        samples=_misaligned,
    ),
)
