"""The agent itself: sources, ticks, attribution, cost."""

from collections.abc import Callable, Iterator

from numa_exporter.metrics.row import Row, Sample, View
from numa_exporter.model.health import AgentStats, ProcessCost


def _build(view: View) -> Iterator[Sample]:
    yield (view.version, view.revision or None, view.python), 1


def _host(view: View) -> Iterator[Sample]:
    placement = view.report.placement
    yield (placement.host.mode, placement.host.kernel, placement.cgroup_layout), 1


def _up(view: View) -> Iterator[Sample]:
    for name, health in view.report.health.items():
        if health.up is not None:
            yield (name,), int(health.up)


def _failures(view: View) -> Iterator[Sample]:
    for name, health in view.report.health.items():
        for word, count in health.failures.items():
            yield (name, word), count


def _source(field: str) -> Callable[[View], Iterator[Sample]]:
    def samples(view: View) -> Iterator[Sample]:
        for name, health in view.report.health.items():
            value = getattr(health, field)
            if value is not None:
                yield (name,), value

    return samples


def _stat(field: Callable[[AgentStats], float | None]) -> Callable[[View], Iterator[Sample]]:
    def samples(view: View) -> Iterator[Sample]:
        value = field(view.agent) if view.agent else None
        if value is not None:
            yield (), value

    return samples


def _cost(field: Callable[[ProcessCost], float | None]) -> Callable[[View], Iterator[Sample]]:
    return _stat(lambda agent: field(agent.cost) if agent.cost else None)


def _gpu_processes(view: View) -> Iterator[Sample]:
    attribution = view.report.placement.attribution
    for state in ("attributed", "unattributed", "denied", "observer"):
        count = getattr(attribution, state)
        if count is not None:
            yield (state,), count


def _memory_method(view: View) -> Iterator[Sample]:
    sampling = view.report.placement.sampling
    if sampling is not None:
        yield (view.report.settings.memory_method, sampling.means), 1


def _dropped(view: View) -> Iterator[Sample]:
    if view.agent:
        for metric, count in view.agent.series_dropped.items():
            yield (metric,), count


ROWS = (
    Row(
        name="numa_exporter_build_info",
        kind="gauge",
        labels=("version", "revision", "python"),
        help="The exporter's build.",
        samples=_build,
    ),
    Row(
        name="numa_exporter_host_info",
        kind="gauge",
        labels=("mode", "kernel", "cgroup"),
        help="How the host is looked at: mode live, replay or simulated; its kernel and cgroup layout.",
        samples=_host,
    ),
    Row(
        name="numa_exporter_source_up",
        kind="gauge",
        labels=("source",),
        help="1 where the last reading succeeded; 0 = denied, gone, stuck or garbled; absent = off or not here.",
        samples=_up,
    ),
    Row(
        name="numa_exporter_source_failures_total",
        kind="counter",
        labels=("source", "failure"),
        help="Failed readings by failure word, single processes included.",
        samples=_failures,
    ),
    Row(
        name="numa_exporter_source_duration_seconds",
        kind="gauge",
        labels=("source",),
        help="Wall time of the source's last reading.",
        samples=_source("duration"),
    ),
    Row(
        name="numa_exporter_source_read_timestamp_seconds",
        kind="gauge",
        labels=("source",),
        help="When the source was last read, unix time.",
        samples=_source("read_at"),
    ),
    Row(
        name="numa_exporter_source_interval_seconds",
        kind="gauge",
        labels=("source",),
        help="Interval of the source as it is now; the governor may stretch it.",
        samples=_source("interval"),
    ),
    Row(
        name="numa_exporter_last_tick_timestamp_seconds",
        kind="gauge",
        labels=(),
        help="When the published report was made, unix time.",
        samples=_stat(lambda agent: agent.last_tick),
    ),
    Row(
        name="numa_exporter_ticks_total",
        kind="counter",
        labels=(),
        help="Ticks of the loop: join, judge, render, publish.",
        samples=_stat(lambda agent: agent.ticks),
    ),
    Row(
        name="numa_exporter_ticks_skipped_total",
        kind="counter",
        labels=(),
        help="Ticks that came while the one before was still running; they are skipped, never queued.",
        samples=_stat(lambda agent: agent.ticks_skipped),
    ),
    Row(
        name="numa_exporter_gpu_processes",
        kind="gauge",
        labels=("state",),
        help="Processes on GPUs by how far they could be attributed to a workload.",
        samples=_gpu_processes,
    ),
    Row(
        name="numa_exporter_memory_method_info",
        kind="gauge",
        labels=("method", "sampler"),
        help="--memory.method, and by what means pages can be sampled here: pagemap_scan, move_pages (sparse address "
        "spaces are then withheld) or none (a seccomp profile blocks move_pages: only cheap processes are read, by a "
        "walk).",
        samples=_memory_method,
    ),
    Row(
        name="numa_exporter_series_dropped_total",
        kind="counter",
        labels=("metric",),
        help="Series left out because of --max-series.",
        samples=_dropped,
    ),
    Row(
        name="numa_exporter_lock_hold_seconds_total",
        kind="counter",
        labels=(),
        help="Wall time of calls that can hold a workload's mmap lock: an upper bound of the harm.",
        samples=_stat(lambda agent: agent.lock_hold_seconds),
    ),
    Row(
        name="process_cpu_seconds_total",
        kind="counter",
        labels=(),
        help="User and system CPU time of the exporter.",
        samples=_cost(lambda cost: cost.cpu_seconds),
    ),
    Row(
        name="process_resident_memory_bytes",
        kind="gauge",
        labels=(),
        help="Resident memory of the exporter.",
        samples=_cost(lambda cost: cost.resident_bytes),
    ),
    Row(
        name="process_virtual_memory_bytes",
        kind="gauge",
        labels=(),
        help="Virtual memory of the exporter.",
        samples=_cost(lambda cost: cost.virtual_bytes),
    ),
    Row(
        name="process_open_fds",
        kind="gauge",
        labels=(),
        help="Open file descriptors of the exporter.",
        samples=_cost(lambda cost: cost.open_fds),
    ),
    Row(
        name="process_threads",
        kind="gauge",
        labels=(),
        help="Threads of the exporter.",
        samples=_cost(lambda cost: cost.threads),
    ),
    Row(
        name="process_start_time_seconds",
        kind="gauge",
        labels=(),
        help="Start of the exporter, unix time.",
        samples=_cost(lambda cost: cost.start_time),
    ),
)
