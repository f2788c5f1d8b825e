import pytest

from numa_exporter.formats import drm_fdinfo, pci_address
from numa_exporter.formats.parse_error import ParseError

AMD = b"""pos:\t0
flags:\t02100002
mnt_id:\t27
ino:\t432
drm-driver:\tamdgpu
drm-client-id:\t24
drm-pdev:\t0000:c3:00.0
drm-memory-vram:\t8388608 KiB
drm-memory-gtt: \t1024 KiB
drm-engine-compute:\t5012341 ns
"""


def test_a_client_of_amdgpu() -> None:
    client = drm_fdinfo.parse(AMD, "fdinfo")
    assert client is not None
    assert client.address == pci_address.parse("0000:c3:00.0")
    assert client.card_bytes == 8 << 30
    assert (client.driver, client.client_id) == ("amdgpu", "24")


def test_resident_wins_over_memory_and_regions_add_up() -> None:
    text = b"drm-driver:\txe\ndrm-memory-vram0:\t1 MiB\ndrm-resident-vram0:\t2 MiB\ndrm-resident-vram1:\t3 MiB\n"
    client = drm_fdinfo.parse(text, "fdinfo")
    assert client is not None
    assert client.card_bytes == 5 << 20


def test_bytes_without_a_unit_and_a_driver_that_counts_nothing() -> None:
    counted = drm_fdinfo.parse(b"drm-driver:\ti915\ndrm-resident-local0:\t4096\n", "fdinfo")
    silent = drm_fdinfo.parse(b"drm-driver:\tast\n", "fdinfo")
    assert counted is not None and counted.card_bytes == 4096
    assert silent is not None and silent.card_bytes is None and silent.address is None


def test_an_ordinary_file_is_no_client() -> None:
    assert drm_fdinfo.parse(b"pos:\t0\nflags:\t0100002\n", "fdinfo") is None


def test_a_broken_size() -> None:
    with pytest.raises(ParseError):
        drm_fdinfo.parse(b"drm-driver:\tamdgpu\ndrm-memory-vram:\tmany KiB\n", "fdinfo")
