"""Device ids of device plugins, as the kubelet's checkpoint and PodResources hold them.

NVIDIA/k8s-device-plugin (deviceIDStrategy uuid or index, replicas), GKE's and AMD's plugins::

    GPU-9b341c59-f96b-ba85-c137-78c3652fea65            a whole GPU
    GPU-9b341c59-f96b-ba85-c137-78c3652fea65::3         its replica 3: time slicing or MPS
    MIG-41b3359c-e721-56e5-8009-12e5797ed514            a MIG device (driver 470 and later)
    MIG-GPU-b8ea3855-276c-c9cb-b366-c6fa655957c5/1/0    the same before: GPU, GPU instance, compute instance
    0    0:1                                            by index; GPU and MIG device
    nvidia0    nvidia0/gi1    nvidia0/vgpu1             GKE: /dev/nvidia0, GPU instance, time share
    0000:8d:00.0                                        AMD
    tegra                                               the one GPU of a Jetson

An index counts what the plugin's NVML saw and is not a minor number.
"""

import re
from dataclasses import dataclass

from numa_exporter.formats import pci_address
from numa_exporter.formats.pci_address import PciAddress

_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_GPU = re.compile(rf"GPU-{_UUID}")
_MIG = re.compile(rf"MIG-{_UUID}")
_NUMBER = "([0-9]{1,9})"
_OLD_MIG = re.compile(rf"MIG-(GPU-{_UUID})/{_NUMBER}/{_NUMBER}")
_INDEX = re.compile(rf"{_NUMBER}(?::{_NUMBER})?")
_GKE = re.compile(rf"nvidia{_NUMBER}(?:/gi{_NUMBER})?(?:/vgpu{_NUMBER})?")
_REPLICA = re.compile(_NUMBER)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceId:
    """What an id says of its GPU; all other fields are None.

    Exactly one of ``uuid``, ``mig_uuid``, ``index``, ``minor``, ``address`` names the GPU, or ``integrated`` is true:
    the machine's only one.
    """

    uuid: str | None = None
    mig_uuid: str | None = None
    index: int | None = None
    minor: int | None = None
    address: PciAddress | None = None
    integrated: bool = False
    mig_index: int | None = None
    gpu_instance_id: int | None = None
    compute_instance_id: int | None = None
    replica: int | None = None


def parse(text: str) -> DeviceId | None:
    """None for a form that is not listed above: another vendor's, or a made-up one."""
    name, separator, suffix = text.partition("::")
    if separator and not _REPLICA.fullmatch(suffix):
        return None
    return _named(name, int(suffix) if separator else None)


def _named(name: str, replica: int | None) -> DeviceId | None:
    if _GPU.fullmatch(name):
        return DeviceId(uuid=name, replica=replica)
    if _MIG.fullmatch(name):
        return DeviceId(mig_uuid=name, replica=replica)
    if match := _OLD_MIG.fullmatch(name):
        return DeviceId(
            uuid=match[1],
            gpu_instance_id=int(match[2]),
            compute_instance_id=int(match[3]),
            replica=replica,
        )
    if match := _INDEX.fullmatch(name):
        return DeviceId(index=int(match[1]), mig_index=int(match[2]) if match[2] else None, replica=replica)
    if match := _GKE.fullmatch(name):
        instance, share = (int(part) if part else None for part in match.group(2, 3))
        return DeviceId(minor=int(match[1]), gpu_instance_id=instance, replica=replica if share is None else share)
    if name == "tegra":
        return DeviceId(integrated=True, replica=replica)
    address = pci_address.parse(name)
    return DeviceId(address=address, replica=replica) if address else None
