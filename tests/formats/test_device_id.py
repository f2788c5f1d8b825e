from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import device_id
from numa_exporter.formats.device_id import DeviceId
from numa_exporter.formats.pci_address import PciAddress

GPU = "GPU-9b341c59-f96b-ba85-c137-78c3652fea65"
MIG = "MIG-41b3359c-e721-56e5-8009-12e5797ed514"


@given(st.uuids(), st.none() | st.integers(0, 99))
def test_uuids_and_their_replicas(uuid: UUID, replica: int | None) -> None:
    suffix = "" if replica is None else f"::{replica}"
    assert device_id.parse(f"GPU-{uuid}{suffix}") == DeviceId(uuid=f"GPU-{uuid}", replica=replica)
    assert device_id.parse(f"MIG-{uuid}{suffix}") == DeviceId(mig_uuid=f"MIG-{uuid}", replica=replica)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"MIG-{GPU}/1/0", DeviceId(uuid=GPU, gpu_instance_id=1, compute_instance_id=0)),
        (f"{MIG}::2", DeviceId(mig_uuid=MIG, replica=2)),
        ("0", DeviceId(index=0)),
        ("0:1", DeviceId(index=0, mig_index=1)),
        ("7::4", DeviceId(index=7, replica=4)),
        ("nvidia0", DeviceId(minor=0)),
        ("nvidia3/gi1", DeviceId(minor=3, gpu_instance_id=1)),
        ("nvidia0/vgpu1", DeviceId(minor=0, replica=1)),
        ("nvidia0/gi2/vgpu1", DeviceId(minor=0, gpu_instance_id=2, replica=1)),
        ("0000:8d:00.0", DeviceId(address=PciAddress(domain=0, bus=0x8D, device=0, function=0))),
        ("tegra", DeviceId(integrated=True)),
    ],
)
def test_every_form(text: str, expected: DeviceId) -> None:
    assert device_id.parse(text) == expected


@pytest.mark.parametrize("text", ["", "GPU-aaa", f"{GPU}::", f"{GPU}::x", f"{GPU}:3", "OTHER-1", "nvidia", "nvidiactl"])
def test_other_forms_name_no_gpu(text: str) -> None:
    assert device_id.parse(text) is None
