import tarfile
from pathlib import Path

import pytest

from numa_exporter.formats import node_meminfo
from numa_exporter.formats.parse_error import ParseError

PATH = "/sys/devices/system/node/node1/meminfo"
LINES = b"""
Node 1 MemTotal:       134217728 kB
Node 1 MemFree:        39634788 kB
Node 1 Active(file):    5014032 kB
Node 1 Inactive(file): 71165504 kB
Node 1 FilePages:      83579188 kB
Node 1 SReclaimable:    4614084 kB
Node 1 HugePages_Total:   512
Node 1 HugePages_Free:     12
"""


def test_all_fields_and_an_empty_first_line() -> None:
    assert node_meminfo.parse(LINES, PATH) == node_meminfo.NodeMeminfo(
        total_bytes=134217728 * 1024,
        free_bytes=39634788 * 1024,
        file_pages_bytes=83579188 * 1024,
        active_file_bytes=5014032 * 1024,
        inactive_file_bytes=71165504 * 1024,
        slab_reclaimable_bytes=4614084 * 1024,
        hugepages_total=512,
        hugepages_free=12,
    )


def test_reclaimable_is_file_lru_and_slab() -> None:
    assert node_meminfo.parse(LINES, PATH).reclaimable_bytes == (5014032 + 71165504 + 4614084) * 1024


@pytest.mark.parametrize("missing", [b"Active(file)", b"Inactive(file)", b"SReclaimable"])
def test_reclaimable_is_unknown_where_a_part_is(missing: bytes) -> None:
    lines = b"\n".join(line for line in LINES.splitlines() if b" " + missing + b":" not in line)
    assert node_meminfo.parse(lines, PATH).reclaimable_bytes is None


def test_a_node_without_memory_is_zero_not_unknown() -> None:
    parsed = node_meminfo.parse(b"Node 2 MemTotal: 0 kB\nNode 2 MemFree: 0 kB\n", PATH)
    assert (parsed.total_bytes, parsed.free_bytes, parsed.hugepages_total) == (0, 0, None)


@pytest.mark.parametrize(
    "line", [b"MemTotal: 1 kB", b"Node x MemTotal: 1 kB", b"Node 0 MemTotal 1 kB", b"Node 0 MemFree: 1 pages"]
)
def test_broken_lines_are_named(line: bytes) -> None:
    with pytest.raises(ParseError) as caught:
        node_meminfo.parse(b"Node 0 MemTotal: 8 kB\n" + line, PATH)
    assert (caught.value.path, caught.value.line_number, caught.value.line) == (PATH, 2, line)


@pytest.mark.parametrize("data", [b"", b"Node 0 MemFree: 8 kB\n"])
def test_without_a_total_the_file_is_broken(data: bytes) -> None:
    with pytest.raises(ParseError):
        node_meminfo.parse(data, PATH)


def test_real_files(shared_data: Path) -> None:
    files = sorted(shared_data.glob("node/node_exporter/sys/devices/system/node/node*/meminfo"))
    assert len(files) == 3
    contents = [file.read_bytes() for file in files]
    for archive in (shared_data / "node/pcp").glob("*.tgz"):
        with tarfile.open(archive) as tar:
            for member in tar:
                reader = tar.extractfile(member) if member.name.endswith("/meminfo") and "node" in member.name else None
                if reader is not None:
                    # tar padded sysfs's claimed 4096 bytes with NULs: the archive's doing, not the kernel's.
                    contents.append(reader.read().rstrip(b"\0"))
    assert len(contents) == 7
    for data in contents:
        parsed = node_meminfo.parse(data, "meminfo")
        assert parsed.free_bytes is not None and 0 < parsed.free_bytes < parsed.total_bytes
        assert parsed.reclaimable_bytes is not None and 0 < parsed.reclaimable_bytes < parsed.total_bytes
