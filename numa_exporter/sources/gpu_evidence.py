"""Why a process is said to hold a GPU: the drivers' lists (NVML, KFD), DRM clients, open descriptors."""

from collections.abc import Iterable, Sequence

from numa_exporter.model.gpus import ContextKind, Gpu, GpuContext, Gpus
from numa_exporter.model.processes import Evidence, GpuEvidence
from numa_exporter.sources.open_devices import OpenDevices

_KINDS: tuple[ContextKind, ...] = ("compute", "mps", "graphics")
_STRENGTH: tuple[Evidence, ...] = ("nvml", "kfd", "drm", "fd", "kubelet", "vfio")


def of_contexts(gpus: Gpus) -> dict[int, list[GpuEvidence]]:
    """The drivers' lists by PID. A process on several lists of one GPU counts once: each names its whole use."""
    found: dict[int, list[GpuEvidence]] = {}
    for gpu in gpus.gpus:
        best: dict[tuple[int, int | None], GpuContext] = {}
        for context in sorted(gpu.contexts or (), key=lambda context: _KINDS.index(context.kind)):
            best.setdefault((context.pid, context.gpu_instance_id), context)
        for context in best.values():
            found.setdefault(context.pid, []).append(_of_context(gpu, context))
    return found


def _of_context(gpu: Gpu, context: GpuContext) -> GpuEvidence:
    instance = next((mig for mig in gpu.mig if mig.gpu_instance_id == context.gpu_instance_id), None)
    return GpuEvidence(
        uuid=gpu.uuid,
        evidence="kfd" if gpu.vendor == "amd" else "nvml",
        used_bytes=context.used_bytes,
        kind=context.kind,
        gpu_instance_id=context.gpu_instance_id,
        mig_uuid=instance.uuid if instance else None,
    )


def of_devices(opened: OpenDevices, gpus: Gpus) -> list[GpuEvidence]:
    """What open descriptors say. A DRM client is an AMD or Intel GPU's user; NVIDIA's render nodes say no more than
    its own devices do."""
    found = [
        GpuEvidence(uuid=gpu.uuid, evidence="fd", opened_compute=opened.compute)
        for gpu in gpus.gpus
        if gpu.vendor == "nvidia" and gpu.minor in opened.nvidia
    ]
    found += [
        # The accel subsystem has no display side: whoever opens a node computes.
        GpuEvidence(uuid=gpu.uuid, evidence="fd", opened_compute=True)
        for gpu in gpus.gpus
        if gpu.vendor == "intel" and gpu.minor in opened.accel
    ]
    found += _of_drm(opened, [gpu for gpu in gpus.gpus if gpu.vendor != "nvidia"])
    for gpu in gpus.gpus:
        if gpu.address in opened.vfio:
            found.append(GpuEvidence(uuid=gpu.uuid, evidence="vfio"))
    return found


def _of_drm(opened: OpenDevices, gpus: Sequence[Gpu]) -> Iterable[GpuEvidence]:
    for gpu in gpus:
        address = gpu.address
        handles = [
            handle
            for handle in opened.drm
            if (handle.client is not None and handle.client.address is not None and handle.client.address == address)
            or (handle.render and handle.minor == gpu.render_minor)
        ]
        if not handles:
            continue
        clients = {handle.client.client_id: handle.client for handle in handles if handle.client is not None}
        sizes = [client.card_bytes for client in clients.values() if client.card_bytes is not None]
        yield GpuEvidence(
            uuid=gpu.uuid,
            evidence="drm",
            used_bytes=sum(sizes) if sizes else None,
            kind="compute" if any(handle.render for handle in handles) else "graphics",
            opened_compute=opened.compute,
        )


def strongest(evidence: Iterable[GpuEvidence]) -> tuple[GpuEvidence, ...]:
    """The best kind of evidence for each GPU, all of its entries (a process can be on several MIG instances)."""
    by_gpu: dict[str, list[GpuEvidence]] = {}
    for entry in sorted(evidence, key=lambda entry: _STRENGTH.index(entry.evidence)):
        known = by_gpu.setdefault(entry.uuid, [])
        if not known or known[0].evidence == entry.evidence:
            known.append(entry)
    return tuple(entry for uuid in sorted(by_gpu) for entry in by_gpu[uuid])


def computes(evidence: Iterable[GpuEvidence], *, nvml: bool) -> bool:
    """Whether this makes its container one of a GPU workload's. With NVML at hand a descriptor alone does not:
    monitors and device plugins hold them too."""
    return any(
        entry.evidence == "vfio"
        or (entry.evidence == "fd" and entry.opened_compute and not nvml)
        or (entry.evidence in ("nvml", "kfd", "drm") and entry.kind != "graphics")
        for entry in evidence
    )
