import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import maps
from numa_exporter.formats.backing import MemoryDevices
from numa_exporter.formats.maps import FileId, MapsLine
from numa_exporter.formats.parse_error import ParseError

TEXT = b"""00400000-00401000 r-xp 00000000 08:01 14                                 /bin/worker
27185000-271d9000 rw-p 00000000 00:00 0                                  [heap]
7f0000000000-7f0000100000 rw-p 00000000 00:00 0
7f0000100000-7f0000200000 r--p 00000000 00:00 0
7f0000200000-7f0000300000 ---p 00000000 00:00 0
7f0000300000-7f0000400000 rw-s 00000000 00:01 7                          /dev/zero (deleted)
7f0000400000-7f0000500000 rw-s 00000000 00:01 8                          /dev/zero (deleted)
7f0000500000-7f0000600000 rw-s 00000000 00:01 32768                      /SYSV00000000 (deleted)
7f0000700000-7f0000800000 rw-s 00000000 00:01 32769                      /SYSV00000000 (deleted)
7f0000800000-7f0000900000 rw-s 00000000 00:1a 3096                       /dev/shm/a b\\012c
7f0000a00000-7f0000b00000 rw-s 10000000 00:06 470                        /dev/nvidia0
7ffd00000000-7ffd00001000 r--p 00000000 00:00 0                          [vvar]
"""
DEVICES = MemoryDevices(tmpfs=frozenset({(0, 26)}))
MIB = 1 << 20
BASE = 0x7F0000000000


def render(line: MapsLine) -> bytes:
    fields = b"%08x-%08x %b %08x %02x:%02x %d " % (
        line.start,
        line.end,
        line.perms.encode(),
        line.offset,
        *line.device,
        line.inode,
    )
    return fields if line.name is None else fields.ljust(73) + line.name.replace(b"\n", b"\\012")


@given(
    st.builds(
        MapsLine,
        start=st.integers(min_value=0, max_value=1 << 47),
        end=st.integers(min_value=0, max_value=1 << 47),
        perms=st.sampled_from(["rw-p", "r-xp", "---p", "rwxs"]),
        offset=st.integers(min_value=0, max_value=1 << 40),
        device=st.tuples(st.integers(min_value=0, max_value=4095), st.integers(min_value=0, max_value=1 << 20)),
        inode=st.integers(min_value=0, max_value=1 << 63),
        name=st.none() | st.binary(max_size=40).map(lambda name: b"/" + name).filter(lambda name: b"\\012" not in name),
    )
)
def test_what_is_rendered_is_parsed_again(line: MapsLine) -> None:
    assert maps.parse_line(render(line), "maps", 1) == line


def test_device_numbers_are_hexadecimal_and_names_keep_their_blanks() -> None:
    line = list(maps.parse(TEXT, "/proc/1/maps"))[9]
    assert (line.device, line.inode, line.name) == ((0, 26), 3096, b"/dev/shm/a b\nc")
    assert (line.start, line.end, line.perms) == (BASE + 8 * MIB, BASE + 9 * MIB, "rw-s")


@pytest.mark.parametrize(
    "line", [b"x", b"00400000 r-xp 0 08:01 14", b"1-2 rwx 0 0:1 0", b"1-2 r-xp 0 1 0", b"1-2 r-xp 0 0:1 x"]
)
def test_broken_lines_are_named(line: bytes) -> None:
    with pytest.raises(ParseError) as caught:
        list(maps.parse(TEXT + line + b"\n", "/proc/1/maps"))
    assert (caught.value.line_number, caught.value.line) == (13, line)
    with pytest.raises(ParseError):
        maps.spans(TEXT + line + b"\n", "/proc/1/maps", DEVICES)


def test_files_by_name_and_where_a_name_is_several_by_address() -> None:
    files = maps.files(TEXT)
    assert files.of(b"/bin/worker", None) == FileId(device=(8, 1), inode=14)
    assert str(files.of(b"/dev/shm/a b\nc", BASE)) == "0:26:3096"
    assert files.ambiguous == {b"/SYSV00000000 (deleted)"}
    assert str(files.of(b"/SYSV00000000 (deleted)", BASE + 5 * MIB)) == "0:1:32768"
    assert str(files.of(b"/SYSV00000000 (deleted)", BASE + 7 * MIB)) == "0:1:32769"
    assert files.of(b"/no/such", BASE) is None


def test_a_name_made_to_look_like_fields_is_a_name() -> None:
    line = b"1000-2000 rw-s 00000000 00:1a 7                          /a 00:01 5 /b\n"
    assert maps.files(line).by_name == {b"/a 00:01 5 /b": FileId(device=(0, 26), inode=7)}


def test_spans_are_merged_by_backing() -> None:
    assert maps.spans(TEXT, "/proc/1/maps", DEVICES) == {
        "file": [(0x400000, 0x401000)],
        "anon": [(0x27185000, 0x271D9000), (BASE, BASE + 2 * MIB)],
        "shmem_anon": [(BASE + 3 * MIB, BASE + 5 * MIB)],
        "shmem": [(BASE + 5 * MIB, BASE + 6 * MIB), (BASE + 7 * MIB, BASE + 9 * MIB)],
        "driver": [(BASE + 10 * MIB, BASE + 11 * MIB)],
    }


def test_spans_of_real_files_cover_what_the_lines_cover(shared_data: Path) -> None:
    paths = sorted((shared_data / "numa_maps").glob("*.maps"))
    assert paths
    for path in paths:
        data = path.read_bytes()
        lines = [line for line in maps.parse(data, path.name) if line.perms != "---p"]
        probed = [line for line in lines if not re.match(rb"\[v|\[uprobes", line.name or b"")]
        spans = [span for found in maps.spans(data, path.name, DEVICES).values() for span in found]
        assert sum(end - start for start, end in spans) == sum(line.end - line.start for line in probed)


def test_our_own_address_space_is_read() -> None:
    with open("/proc/self/maps", "rb") as file:
        data = file.read()
    assert any(line.name == b"[stack]" for line in maps.parse(data, "/proc/self/maps"))
    assert maps.spans(data, "/proc/self/maps", DEVICES)["anon"]


def test_segments_are_named_shared_memory_in_address_order() -> None:
    found = [(segment.start - BASE, str(segment.file)) for segment in maps.segments(TEXT, DEVICES)]
    assert found == [(0x500000, "0:1:32768"), (0x700000, "0:1:32769"), (0x800000, "0:26:3096")]
