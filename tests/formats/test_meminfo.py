import tarfile
from pathlib import Path

import pytest

from numa_exporter.formats import meminfo
from numa_exporter.formats.parse_error import ParseError

SMALL = b"MemTotal:  3742148 kB\nMemFree:  225472 kB\nHugePages_Total:  8\nHugepagesize:  2048 kB\n"


def test_kilobytes_are_kibibytes() -> None:
    parsed = meminfo.parse(SMALL, "/proc/meminfo")
    assert parsed == meminfo.Meminfo(
        total_bytes=3742148 * 1024, free_bytes=225472 * 1024, huge_page_bytes=2 * 1024 * 1024
    )


def test_a_kernel_without_huge_pages_does_not_know_their_size() -> None:
    assert meminfo.parse(b"MemTotal: 4 kB\n", "/proc/meminfo").huge_page_bytes is None


@pytest.mark.parametrize("line", [b"MemTotal 4 kB", b"MemTotal: 4 MB", b"MemTotal: -4 kB", b"MemTotal:", b": 4"])
def test_broken_lines_are_named(line: bytes) -> None:
    with pytest.raises(ParseError) as caught:
        meminfo.parse(b"MemFree: 1 kB\n" + line + b"\n", "/proc/meminfo")
    assert (caught.value.line_number, caught.value.line) == (2, line)


def test_an_empty_file_is_broken() -> None:
    with pytest.raises(ParseError):
        meminfo.parse(b"", "/proc/meminfo")


def test_real_files(shared_data: Path) -> None:
    fixture = (shared_data / "interrupts/node_exporter/meminfo").read_bytes()
    assert meminfo.parse(fixture, "meminfo").total_bytes == 3742148 * 1024
    archives = sorted((shared_data / "node/pcp").glob("*.tgz"))
    assert archives
    for archive in archives:
        with tarfile.open(archive) as tar:
            member = tar.extractfile("proc/meminfo")
            assert member is not None
            parsed = meminfo.parse(member.read(), archive.name)
        assert parsed.total_bytes and parsed.free_bytes and parsed.free_bytes < parsed.total_bytes
