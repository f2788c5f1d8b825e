"""Deliberate exceptions: a person says that a workload is meant to be where it is, or that a code is known.

What an intent covers is shown as suppressed with its reason, never dropped; one that has expired covers nothing and
is said.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from numa_exporter.findings import words
from numa_exporter.findings.policies import policy_of
from numa_exporter.findings.remote import PRIVATE, bytes_on, cpu_seconds_on
from numa_exporter.model.ids import NodeSet, WorkloadKey
from numa_exporter.model.placement import Machine, Placement, Workload
from numa_exporter.model.report import Finding, Suppression

THERE = 0.80
"""A workload is where it is expected with this share of its CPU time or bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """One exception. The selectors are shell patterns, all of which must match; one that is None matches anything.

    ``home``: the nodes on which the workload is meant to be; ``codes``: findings to be suppressed whatever it does.
    ``until``: wall-clock seconds from which on it covers nothing (the midnight after its last day), None = for ever.
    """

    reason: str
    namespace: str | None = None
    pod: str | None = None
    container: str | None = None
    unit: str | None = None
    home: NodeSet | None = None
    codes: frozenset[str] = frozenset()
    until: float | None = None

    def selects(self, key: WorkloadKey | None) -> bool:
        """Whether it is about this workload. None is the machine: only an intent without a selector is about that."""
        pairs = [(name, getattr(self, name)) for name in ("namespace", "pod", "container", "unit")]
        asked = [(getattr(key, name, None), pattern) for name, pattern in pairs if pattern is not None]
        return all(value is not None and fnmatchcase(value, pattern) for value, pattern in asked)


def suppressed(findings: Iterable[Finding], placement: Placement, intents: Sequence[Intent]) -> Iterator[Finding]:
    """The findings, those that an intent covers marked with its reason."""
    for finding in findings:
        covering = [intent for intent in intents if _covers(intent, finding, placement)]
        valid = [intent for intent in covering if intent.until is None or placement.taken_at < intent.until]
        if valid:
            yield replace(finding, suppressed=Suppression(reason=valid[0].reason, until=_last_day(valid[0])))
        elif covering:
            expired = f"The exception for it ({covering[0].reason}) ended with {_last_day(covering[0])}."
            yield replace(finding, remedy_note="\n".join(filter(None, (finding.remedy_note, expired))))
        else:
            yield finding


def _covers(intent: Intent, finding: Finding, placement: Placement) -> bool:
    if not intent.selects(finding.subject.workload):
        return False
    if finding.code in intent.codes:
        return True
    if intent.home is None or placement.machine is None:
        return False
    own = [workload for workload in placement.workloads if workload.key == finding.subject.workload]
    return any(is_there(intent.home, finding, workload, placement.machine) for workload in own)


def is_there(home: NodeSet, finding: Finding, workload: Workload, machine: Machine) -> bool:
    """Whether the workload is on the nodes where it is expected, in what the finding is about.

    A finding that is not about a place is answered by its code alone.
    """
    ranks = [rank for rank in workload.ranks if finding.subject.uuid in (None, rank.key.uuid)]
    cgroup = workload.cgroup
    match finding.code:
        case "cpu_remote":
            return all(_mostly(cpu_seconds_on(rank), home) for rank in ranks)
        case "memory_remote" | "host_buffers_remote" | "pages_before_policy":
            return all(_mostly(bytes_on(rank, PRIVATE), home) for rank in ranks)
        case "rank_swapped":
            return all(_mostly(cpu_seconds_on(rank), home) and _mostly(bytes_on(rank, PRIVATE), home) for rank in ranks)
        case "cpuset_off_home" | "cpuset_unconfined":
            return cgroup is not None and cgroup.cpus is not None and cgroup.cpus <= words.cpus_of(machine, home)
        case "mems_wider_than_cpus":
            return cgroup is not None and cgroup.mems is not None and cgroup.mems <= home
        case "policy_off_home" | "policy_interleaved":
            policies = [policy_of(rank.policy) for rank in ranks]
            return all(policy is not None and policy.nodes <= home for policy in policies)
    return False


def _mostly(amounts: Mapping[int, float], home: NodeSet) -> bool:
    """Also of nothing: what is not there is not elsewhere."""
    return sum(amounts.get(node, 0.0) for node in home) >= THERE * sum(amounts.values())


def _last_day(intent: Intent) -> str | None:
    return None if intent.until is None else datetime.fromtimestamp(intent.until - 1, UTC).strftime("%Y-%m-%d")
