import pytest

from numa_exporter.formats import proc_status
from numa_exporter.formats.parse_error import ParseError

WORKER = b"""Name:\tpython3
Umask:\t0022
State:\tS (sleeping)
Uid:\t1000\t1001\t1002\t1003
Groups:\t
NStgid:\t4242\t17
NSpid:\t4242\t17
VmLck:\t       8 kB
VmPin:\t      12 kB
VmRSS:\t   13924 kB
RssAnon:\t    5120 kB
RssFile:\t    8800 kB
RssShmem:\t       4 kB
HugetlbPages:\t    2048 kB
Threads:\t8
Cpus_allowed:\t0000ffff,ffffffff
Cpus_allowed_list:\t0-47
Mems_allowed_list:\t0-1
x86_Thread_features:\t
"""


def test_a_process_of_a_container() -> None:
    assert proc_status.parse(WORKER, "/proc/4242/status") == proc_status.Status(
        name=b"python3",
        uid=1000,
        namespace_pids=(4242, 17),
        threads=8,
        resident_bytes=13924 * 1024,
        resident_anon_bytes=5120 * 1024,
        resident_file_bytes=8800 * 1024,
        resident_shmem_bytes=4096,
        hugetlb_bytes=2 << 20,
        pinned_bytes=12 * 1024,
        locked_bytes=8 * 1024,
        cpus_allowed=frozenset(range(48)),
        mems_allowed=frozenset({0, 1}),
    )


def test_kernel_threads_and_zombies_have_no_memory_lines() -> None:
    status = proc_status.parse(b"Name:\tkthreadd\nState:\tS (sleeping)\nThreads:\t1\n", "/proc/2/status")
    assert status.resident_bytes is None
    assert status.hugetlb_bytes is None
    assert status.mems_allowed is None
    assert status.threads == 1


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (rb"a\nb", b"a\nb"),
        (rb"a\\nb", rb"a\nb"),
        (rb"a\\\nb", b"a\\\nb"),
        (b"a: b", b"a: b"),
        (b"\xff", b"\xff"),
        (b"", b""),
    ],
)
def test_names_are_unescaped(text: bytes, name: bytes) -> None:
    assert proc_status.parse(b"Name:\t" + text + b"\n", "/proc/1/status").name == name


@pytest.mark.parametrize(
    ("line", "number"),
    [
        (b"no colon", 2),
        (b"VmRSS:\t12 MB", 2),
        (b"VmRSS:\tkB", 2),
        (b"VmRSS:\t-1 kB", 2),
        (b"Uid:\t", 2),
        (b"NSpid:\t1 x", 2),
        (b"Cpus_allowed_list:\t3-1", 2),
    ],
)
def test_broken_lines_are_named(line: bytes, number: int) -> None:
    with pytest.raises(ParseError) as caught:
        proc_status.parse(b"Name:\tx\n" + line + b"\n", "/proc/1/status")
    assert caught.value.line_number == number


@pytest.mark.parametrize("data", [b"", b"Threads:\t1\n"])
def test_a_status_has_a_name(data: bytes) -> None:
    with pytest.raises(ParseError):
        proc_status.parse(data, "/proc/1/status")


def test_our_own_status_is_read() -> None:
    with open("/proc/self/status", "rb") as file:
        status = proc_status.parse(file.read(), "/proc/self/status")
    assert status.resident_bytes
    assert status.cpus_allowed
