"""Why a process is said to hold a GPU: NVML's context lists, KFD's processes, DRM clients, open descriptors."""

from collections.abc import Iterable, Mapping, Sequence

from numa_exporter.formats import kfd, number
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.model.gpus import ContextKind, Gpu, GpuContext, Gpus
from numa_exporter.model.processes import Evidence, GpuEvidence
from numa_exporter.sources.host import Host, HostError
from numa_exporter.sources.open_devices import OpenDevices

KFD = "/sys/class/kfd/kfd"
_KINDS: tuple[ContextKind, ...] = ("compute", "mps", "graphics")
_STRENGTH: tuple[Evidence, ...] = ("nvml", "kfd", "drm", "fd", "kubelet", "vfio")


def of_contexts(gpus: Gpus) -> dict[int, list[GpuEvidence]]:
    """NVML's lists by PID. A process on several lists of one GPU counts once: each names its whole use."""
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
        evidence="nvml",
        used_bytes=context.used_bytes,
        kind=context.kind,
        gpu_instance_id=context.gpu_instance_id,
        mig_uuid=instance.uuid if instance else None,
    )


def of_kfd(host: Host, gpus: Gpus) -> dict[int, list[GpuEvidence]]:
    """Processes with memory on AMD GPUs, by PID: kfd/proc/PID/vram_GPUID holds bytes."""
    by_id = _kfd_gpus(host, gpus)
    found: dict[int, list[GpuEvidence]] = {}
    for pid in _numbers(host, f"{KFD}/proc") if by_id else ():
        for gpu_id, gpu in by_id.items():
            path = f"{KFD}/proc/{pid}/vram_{gpu_id}"
            try:
                used = number.parse(host.read(path), path)
            except (HostError, ParseError):
                continue  # the process is leaving, or does not use this GPU
            if used > 0:
                found.setdefault(pid, []).append(GpuEvidence(uuid=gpu.uuid, evidence="kfd", used_bytes=used))
    return found


def _kfd_gpus(host: Host, gpus: Gpus) -> dict[int, Gpu]:
    """GPUs by KFD's own id."""
    found: dict[int, Gpu] = {}
    for node in _numbers(host, f"{KFD}/topology/nodes"):
        folder = f"{KFD}/topology/nodes/{node}"
        try:
            properties = kfd.parse(host.read(f"{folder}/properties"), f"{folder}/properties")
            gpu_id = number.parse(host.read(f"{folder}/gpu_id"), f"{folder}/gpu_id")
        except (HostError, ParseError):
            continue  # a CPU node, or a node that this reader may not see
        for gpu in gpus.gpus:
            if gpu.function is not None and gpu.function.address == properties.address:
                found[gpu_id] = gpu
    return found


def _numbers(host: Host, path: str) -> list[int]:
    try:
        return sorted(int(name) for name in host.list(path) if name.isdigit())
    except HostError:
        return []  # no AMD driver


def of_devices(opened: OpenDevices, gpus: Gpus) -> list[GpuEvidence]:
    """What open descriptors say. A DRM client is an AMD or Intel GPU's user; NVIDIA's render nodes say no more than
    its own devices do."""
    found = [
        GpuEvidence(uuid=gpu.uuid, evidence="fd", opened_compute=opened.compute)
        for gpu in gpus.gpus
        if gpu.vendor == "nvidia" and gpu.minor in opened.nvidia
    ]
    found += _of_drm(opened, [gpu for gpu in gpus.gpus if gpu.vendor != "nvidia"])
    for gpu in gpus.gpus:
        if gpu.function is not None and gpu.function.address in opened.vfio:
            found.append(GpuEvidence(uuid=gpu.uuid, evidence="vfio"))
    return found


def _of_drm(opened: OpenDevices, gpus: Sequence[Gpu]) -> Iterable[GpuEvidence]:
    for gpu in gpus:
        address = gpu.function.address if gpu.function else None
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


def merged(parts: Iterable[Mapping[int, list[GpuEvidence]]]) -> dict[int, list[GpuEvidence]]:
    """Evidence by PID from several origins."""
    found: dict[int, list[GpuEvidence]] = {}
    for part in parts:
        for pid, entries in part.items():
            found.setdefault(pid, []).extend(entries)
    return found
