"""Which GPU of this machine a device id of a plugin, or the device of a claim, means."""

import re

from numa_exporter.formats import device_id
from numa_exporter.formats.device_id import DeviceId
from numa_exporter.formats.podresources import ClaimedDevice
from numa_exporter.model.gpus import Gpu, MigInstance
from numa_exporter.model.kubelet import GrantedGpu
from numa_exporter.model.placement import Machine

_VENDORS = ("nvidia.com/", "amd.com/", "gpu.intel.com/", "habana.ai/")
_COUNTED = re.compile(r"(?:nvidia|amd)\.com/(?:gpu|mig-)[^/]*")
"""Resources whose ids can be ordinals. A plain number of another resource may be anything: an IOMMU group, a slot."""
_CLAIMED = re.compile(r"gpu-([0-9]+)(?:-mig-[0-9a-z]+(?:-[0-9a-z]+)*)?")
"""The name of a MIG device goes on with its profile, by number in older drivers and by name in newer ones (1g10gb,
1g10gb-me), and with its place. That tells the GPU and no instance."""
_AMD_CLAIMED = re.compile(r"gpu-[0-9]+-([0-9]+)")


def is_gpu_resource(resource: str) -> bool:
    """Whether ids of this resource ought to name GPUs; a renamed one may, and is not missed where it does not."""
    return resource.startswith(_VENDORS)


def granted_gpu(text: str, resource: str, machine: Machine) -> GrantedGpu | None:
    """None where the id names no GPU of this machine."""
    name = text.partition("::")[0]
    known = next((placed for placed in machine.gpus if placed.uuid == name), None)
    if known is not None:
        return _granted(known.gpu, None, text)
    parsed = device_id.parse(text)
    if parsed is None or (parsed.index is not None and not _COUNTED.fullmatch(resource)):
        return None
    found = [(placed.gpu, mig) for placed in machine.gpus for mig in _meant(parsed, placed.gpu)]
    if len(found) != 1 or (parsed.integrated and len(machine.gpus) != 1):
        return None
    return _granted(*found[0], text)


def is_part(text: str) -> bool:
    """Whether an id is an instance or a share of a GPU: MIG, time slicing, MPS."""
    parsed = device_id.parse(text)
    parts = (parsed.mig_uuid, parsed.mig_index, parsed.gpu_instance_id, parsed.replica) if parsed else ()
    return "::" in text or any(part is not None for part in parts)


def claimed_gpu(claimed: ClaimedDevice, machine: Machine) -> GrantedGpu | None:
    """NVIDIA's driver names a GPU by its minor number, AMD's by card and render minor."""
    device = claimed.device
    if claimed.driver == "gpu.nvidia.com" and (match := _CLAIMED.fullmatch(device)):
        gpus = [placed.gpu for placed in machine.gpus if placed.gpu.minor == int(match[1])]
    elif claimed.driver == "gpu.amd.com" and (match := _AMD_CLAIMED.fullmatch(device)):
        gpus = [placed.gpu for placed in machine.gpus if placed.gpu.render_minor == int(match[1])]
    else:
        return None
    return _granted(gpus[0], None, f"{claimed.driver}/{device}") if len(gpus) == 1 else None


def _meant(parsed: DeviceId, gpu: Gpu) -> list[MigInstance | None]:
    """The GPU itself (None), or the instance of it, that an id means; nothing where it means another one. An ordinal of
    an instance tells its GPU only: the plugin counted those that it saw."""
    if parsed.mig_uuid is not None:
        return [mig for mig in gpu.mig if mig.uuid == parsed.mig_uuid]
    whole = (
        parsed.integrated
        or (parsed.uuid is not None and parsed.uuid == gpu.uuid)
        or (parsed.index is not None and parsed.index == gpu.index)
        or (parsed.minor is not None and parsed.minor == gpu.minor)
        or (parsed.address is not None and parsed.address == gpu.address)
    )
    if not whole:
        return []
    if parsed.gpu_instance_id is None:
        return [None]
    instances = [mig for mig in gpu.mig if mig.gpu_instance_id == parsed.gpu_instance_id]
    exact = [mig for mig in instances if parsed.compute_instance_id in (None, mig.compute_instance_id)]
    return [*exact] if len(exact) == 1 else [MigInstance(uuid=None, gpu_instance_id=parsed.gpu_instance_id)]


def _granted(gpu: Gpu, mig: MigInstance | None, text: str) -> GrantedGpu:
    return GrantedGpu(
        uuid=gpu.uuid,
        device=text,
        mig_uuid=mig.uuid if mig else None,
        gpu_instance_id=mig.gpu_instance_id if mig else None,
    )
