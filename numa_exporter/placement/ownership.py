"""Who holds which GPU: every process of the sample is an owner, an observer, or one that shares their container."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numa_exporter.model.gpus import Gpus
from numa_exporter.model.ids import ProcessKey, WorkloadKey
from numa_exporter.model.placement import Attribution, LastHolding, Ledger, Machine, Observer
from numa_exporter.model.processes import GpuEvidence, Process
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import Settings
from numa_exporter.placement.holdings import Holdings, holdings_of, observed
from numa_exporter.placement.naming import Keys
from numa_exporter.placement.observers import is_observer
from numa_exporter.placement.workloads import excluded, identity, key_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A process of a workload. ``stale``: seconds since NVML last listed its contexts, where it is silent now."""

    process: Process
    holdings: Holdings
    stale: float | None = None

    @property
    def main(self) -> frozenset[str]:
        return self.holdings.main


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """Members by workload, in order of their keys; processes of excluded workloads are nowhere."""

    members: Mapping[WorkloadKey, tuple[Member, ...]]
    observers: tuple[Observer, ...]
    attribution: Attribution


def ownership(
    sample: Sample,
    machine: Machine,
    ledger: Ledger,
    last: Mapping[ProcessKey, tuple[LastHolding, ...]],
    keys: Keys,
    settings: Settings,
) -> Ownership:
    """``last``: NVML's contexts as they are to be believed now (placement.stuck). ``keys``: what workloads are called
    (placement.naming)."""
    if sample.processes is None:
        return Ownership(members={}, observers=(), attribution=Attribution())
    nvml_ever = _nvml_ever(sample.gpus) or _nvml_ever(ledger.gpus)
    sandboxes = sample.names.sandboxes if sample.names else frozenset()
    members: dict[WorkloadKey, list[Member]] = {}
    observers: list[Observer] = []
    nobodys = 0
    for process in sorted(sample.processes.processes, key=lambda process: process.key.pid):
        key = _key(process, keys)
        if key is not None and excluded(key, settings):
            continue
        seen = last.get(process.key, ())
        evidence = _evidence(process, seen)
        if not evidence and process.cgroup is not None and process.cgroup.container_id in sandboxes:
            continue  # it waits and does nothing else; a virtual machine's sandbox does hold GPUs
        if evidence and is_observer(process, evidence):
            observers.append(_observer(process, evidence, key))
            continue
        member = Member(
            process=process,
            holdings=holdings_of(evidence, machine, nvml_ever, settings),
            stale=_stale(process, seen, sample.taken_at),
        )
        if key is None:
            nobodys += bool(member.main) and process.cgroup is not None
        else:
            members.setdefault(key, []).append(member)
    return Ownership(
        members={key: tuple(own) for key, own in sorted(members.items(), key=lambda item: str(item[0]))},
        observers=tuple(observers),
        attribution=Attribution(
            attributed=sum(bool(member.main) for own in members.values() for member in own),
            unattributed=sample.processes.unattributed + nobodys,
            denied=sample.processes.denied,
            observer=len(observers),
        ),
    )


def _key(process: Process, keys: Keys) -> WorkloadKey | None:
    named = keys.get(identity(process.cgroup) or "") if process.cgroup else None
    return named or key_of(process.cgroup)


def _nvml_ever(gpus: Gpus | None) -> bool:
    return gpus is not None and gpus.nvml


def _evidence(process: Process, last: Sequence[LastHolding]) -> tuple[GpuEvidence, ...]:
    others = (found for found in process.evidence if found.evidence != "nvml")
    return (*(seen.evidence for seen in last), *others)


def _stale(process: Process, last: Sequence[LastHolding], now: float) -> float | None:
    """Age of the oldest context that NVML no longer tells of."""
    return max((now - seen.seen_at for seen in last if seen.evidence not in process.evidence), default=None)


def _observer(process: Process, evidence: Sequence[GpuEvidence], key: WorkloadKey | None) -> Observer:
    holdings = observed(evidence)
    return Observer(
        key=process.key,
        comm=process.comm,
        gpus=tuple(sorted({holding.uuid for holding in holdings})),
        workload=key,
        holdings=holdings,
    )
