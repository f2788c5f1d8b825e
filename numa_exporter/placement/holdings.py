"""Holdings of a process: the GPUs on which it has a context, main or stray.

A context takes memory by itself, and libraries open one on every visible GPU (0 MB, 534 MiB, about 1 GB in public
reports of PyTorch and vLLM): such a stray one must not widen a home.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from numa_exporter.model.placement import Holding, Machine, Role
from numa_exporter.model.processes import Evidence, GpuEvidence
from numa_exporter.model.thresholds import Settings

BEST_FIRST: tuple[Evidence, ...] = ("nvml", "kfd", "drm", "fd", "kubelet", "vfio")


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """``main`` are the UUIDs of the main ones. ``sized`` is false where used bytes are not known for each: then every
    context is main."""

    holdings: tuple[Holding, ...] = ()
    main: frozenset[str] = frozenset()
    sized: bool = True


def holdings_of(evidence: Sequence[GpuEvidence], machine: Machine, nvml_ever: bool, settings: Settings) -> Holdings:
    """``nvml_ever``: whether NVML answered at any time since the start; only without it open files tell of NVIDIA."""
    contexts = _contexts(evidence, machine, nvml_ever) if evidence else {}
    if not contexts:
        return Holdings()
    sizes = {uuid: _used_bytes(rows) for uuid, rows in contexts.items()}
    roles = _roles(sizes, settings)
    return Holdings(
        holdings=tuple(
            _holding(rows, roles[uuid]) for uuid in sorted(contexts) for rows in _by_instance(contexts[uuid])
        ),
        main=frozenset(uuid for uuid, role in roles.items() if role == "main"),
        sized=_sized(sizes),
    )


def observed(evidence: Iterable[GpuEvidence]) -> tuple[Holding, ...]:
    """What an observer holds open, each GPU by its best evidence."""
    by_gpu: dict[str, list[GpuEvidence]] = {}
    for found in evidence:
        by_gpu.setdefault(found.uuid, []).append(found)
    return tuple(_holding(_best(rows), "observer") for _, rows in sorted(by_gpu.items()))


def _contexts(evidence: Sequence[GpuEvidence], machine: Machine, nvml_ever: bool) -> dict[str, Sequence[GpuEvidence]]:
    """Evidence of a context by GPU, the best kind only. That the kubelet granted a GPU is no context."""
    by_gpu: dict[str, list[GpuEvidence]] = {}
    for found in evidence:
        gpu = machine.gpu(found.uuid)
        nvidia = gpu is None or gpu.gpu.vendor == "nvidia"
        if _is_context(found, nvidia_with_nvml=nvidia and nvml_ever):
            by_gpu.setdefault(found.uuid, []).append(found)
    best = {uuid: _best(rows) for uuid, rows in by_gpu.items()}
    certain = {uuid: rows for uuid, rows in best.items() if rows[0].evidence != "fd"}
    # CUDA and ROCm open every visible GPU: open files count only for a process of which nothing better is known.
    return certain or best


def _is_context(found: GpuEvidence, *, nvidia_with_nvml: bool) -> bool:
    if found.evidence == "fd":
        return found.opened_compute and not nvidia_with_nvml
    if found.evidence == "drm":
        return not nvidia_with_nvml
    return found.evidence != "kubelet"


def _best(rows: Sequence[GpuEvidence]) -> Sequence[GpuEvidence]:
    best = min(BEST_FIRST.index(found.evidence) for found in rows)
    return [found for found in rows if BEST_FIRST.index(found.evidence) == best]


def _by_instance(rows: Iterable[GpuEvidence]) -> list[list[GpuEvidence]]:
    """One list for each MIG instance (one in all without MIG); NVML names a process once for each of its lists."""
    instances: dict[tuple[str | None, int | None], list[GpuEvidence]] = {}
    for found in rows:
        instances.setdefault((found.mig_uuid, found.gpu_instance_id), []).append(found)
    return list(instances.values())


def _used_bytes(rows: Iterable[GpuEvidence]) -> int | None:
    """Used bytes on one GPU. The compute, graphics and MPS lists tell the same figure again; instances add up."""
    total = 0
    for instance in _by_instance(rows):
        known = [found.used_bytes for found in instance if found.used_bytes is not None]
        if not known:
            return None
        total += max(known)
    return total


def _sized(sizes: Mapping[str, int | None]) -> bool:
    return all(used is not None for used in sizes.values()) and any(sizes.values())


def _roles(sizes: Mapping[str, int | None], settings: Settings) -> dict[str, Role]:
    if not _sized(sizes):
        return dict.fromkeys(sizes, "main")
    largest = max(used or 0 for used in sizes.values())
    least = max(settings.gpu_min_holding_bytes, settings.gpu_min_holding_ratio * largest)
    return {
        uuid: "main" if used is not None and (used == largest or used >= least) else "stray"
        for uuid, used in sizes.items()
    }


def _holding(rows: Sequence[GpuEvidence], role: Role) -> Holding:
    found = rows[0]
    return Holding(
        uuid=found.uuid,
        role=role,
        evidence=found.evidence,
        used_bytes=_used_bytes(rows),
        mig_uuid=found.mig_uuid,
        gpu_instance_id=found.gpu_instance_id,
    )
