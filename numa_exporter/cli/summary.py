"""One line about what is seen, for people who have just started the agent."""

from numa_exporter.model.amounts import plural
from numa_exporter.model.report import Report


def one_line(report: Report) -> str:
    """Machine, GPUs, workloads and how many findings of level warning there are."""
    placement = report.placement
    machine = placement.machine
    if machine is None:
        return "The machine could not be read: see numa_exporter_source_up."
    parts = [plural(len(machine.nodes), "NUMA node")]
    if machine.sockets:
        parts.append(plural(len(machine.sockets), "socket"))
    cpus = sum(len(placed.online_cpus) for placed in machine.nodes)
    parts.append(plural(cpus, "CPU"))
    if not machine.gpus_known:
        parts.append("GPUs unknown: nobody has answered for them yet")
        return ", ".join(parts) + "."
    if not machine.gpus:
        parts.append(
            "no GPU: only the machine is served. To see one with GPUs: numa-exporter demo, or make demo in a checkout"
        )
        return ", ".join(parts) + "."
    parts.append(plural(len(machine.gpus), "GPU"))
    known = placement.attribution.attributed is not None
    parts.append(f"{plural(len(placement.workloads), 'workload')} on them" if known else "who holds them is not known")
    warnings = sum(1 for finding in report.findings if finding.level == "warning" and not finding.suppressed)
    parts.append(f"{plural(warnings, 'warning')}{_so_far(report)}")
    return ", ".join(parts) + "."


def _so_far(report: Report) -> str:
    """This is said when the agent has just begun, and no warning would read as good news."""
    if not any(workload.ranks for workload in report.placement.workloads):
        return ""
    limits = report.settings.thresholds
    minutes = limits.cpu_time_window_seconds / 60
    return f" so far: pages are judged after {limits.evaluations:g} looks, CPU time after {minutes:g} min"


def whole(report: Report) -> bool:
    """Whether each source was read or has failed: before that, what is not there may only be late."""
    return all(health.read_at is not None or health.failure is not None for health in report.health.values())
