import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import kfd
from numa_exporter.formats.kfd import KfdNode
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.formats.pci_address import PciAddress

GPU = """cpu_cores_count 0
simd_count 480
location_id {location}
domain {domain}
drm_render_minor 128
unique_id 5752170827923136638
"""
CPU = b"cpu_cores_count 192\nsimd_count 0\nlocation_id 0\ndomain 0\ndrm_render_minor 0\nunique_id 0\n"


def test_a_gpu() -> None:
    assert kfd.parse(GPU.format(location=8960, domain=0).encode(), "properties") == KfdNode(
        cpu_cores=0,
        simd_count=480,
        address=PciAddress(domain=0, bus=0x23, device=0, function=0),
        render_minor=128,
        uuid="GPU-4fd3d0e445b9207e",
    )


@given(st.integers(0, 0xFFFF), st.integers(1, 0xFFFF), st.integers(0, 15))
def test_a_partition_has_the_address_of_its_gpu(domain: int, location: int, partition: int) -> None:
    whole = kfd.parse(GPU.format(location=location, domain=domain).encode(), "properties")
    part = kfd.parse(GPU.format(location=location | partition << 28, domain=domain).encode(), "properties")
    assert part.address == whole.address
    assert whole.address is not None
    assert whole.address.bus << 8 | whole.address.device << 3 | whole.address.function == location


def test_a_cpu_node_has_no_address_instead_of_the_host_bridge_s() -> None:
    parsed = kfd.parse(CPU, "properties")
    assert (parsed.is_gpu, parsed.cpu_cores) == (False, 192)
    assert (parsed.address, parsed.render_minor, parsed.uuid) == (None, None, None)


def test_a_driver_without_domains_leaves_the_address_unknown() -> None:
    assert kfd.parse(b"simd_count 256\nlocation_id 8960\n", "properties").address is None


@pytest.mark.parametrize("data", [b"", b"simd_count\n", b"simd_count -1\n", b"simd count 4\n"])
def test_broken_lines_are_refused(data: bytes) -> None:
    with pytest.raises(ParseError):
        kfd.parse(data, "properties")
