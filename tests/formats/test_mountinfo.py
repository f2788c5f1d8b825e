import pytest

from numa_exporter.formats import mountinfo
from numa_exporter.formats.mountinfo import Mount
from numa_exporter.formats.parse_error import ParseError

LINE = rb"41 30 0:35 /a\134b /mnt/a\040b\011c\012d rw,noatime shared:2 propagate_from:5 - fuse.sshfs host:/ rw,x=1"


def test_all_fields() -> None:
    assert mountinfo.parse(LINE + b"\n", "/proc/1/mountinfo") == (
        Mount(
            mount_id=41,
            parent_id=30,
            device=(0, 35),
            root="/a\\b",
            mount_point="/mnt/a b\tc\nd",
            options=("rw", "noatime"),
            optional=("shared:2", "propagate_from:5"),
            fstype="fuse.sshfs",
            source="host:/",
            super_options=("rw", "x=1"),
        ),
    )


def test_optional_fields_can_be_absent_and_one_can_be_a_dash_like_source() -> None:
    first, second = mountinfo.parse(
        b"25 24 0:23 / /dev/shm rw - tmpfs tmpfs rw\n26 24 8:1 / / rw shared:1 - ext4 - rw\n", "mountinfo"
    )
    assert (first.optional, first.fstype, first.mount_point) == ((), "tmpfs", "/dev/shm")
    assert (second.device, second.fstype, second.source) == ((8, 1), "ext4", "-")


def test_the_cgroup_root_of_a_private_namespace() -> None:
    (mount,) = mountinfo.parse(b"31 23 0:27 /../../.. /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", "mountinfo")
    assert mount.root == "/../../.."


def test_bytes_that_are_no_text_and_characters_that_are_not_escaped_survive() -> None:
    (mount,) = mountinfo.parse(b"1 0 0:1 / /\xff\r\x0b rw - tmpfs x rw\n", "mountinfo")
    assert mount.mount_point.encode("utf-8", "surrogateescape") == b"/\xff\r\x0b"


@pytest.mark.parametrize(
    "line", [b"x", b"1 0 0:1 / /a rw tmpfs x rw", b"1 0 01 / /a rw - tmpfs x rw", b"1 0 0:1 / /a rw - tmpfs"]
)
def test_broken_lines_are_named(line: bytes) -> None:
    with pytest.raises(ParseError) as caught:
        mountinfo.parse(LINE + b"\n" + line + b"\n", "/proc/1/mountinfo")
    assert (caught.value.line_number, caught.value.line) == (2, line)


def test_our_own_mounts_are_read() -> None:
    with open("/proc/self/mountinfo", "rb") as file:
        mounts = mountinfo.parse(file.read(), "/proc/self/mountinfo")
    assert any(mount.fstype == "proc" for mount in mounts)
