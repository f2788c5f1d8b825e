import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import task_stat
from numa_exporter.formats.parse_error import ParseError

FIELDS = b"S 1 4240 4241 0 -1 4194304 9 8 7 6 812 96 5 4 20 0 33 0 98765 18000000 250 18446744073709551615"
REST = b" 1 1 0 0 0 0 0 16781312 2 0 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0\n"


@given(st.binary(min_size=0, max_size=15), st.integers(min_value=1, max_value=1 << 22))
def test_any_name_is_a_name(comm: bytes, pid: int) -> None:
    parsed = task_stat.parse(b"%d (%b) " % (pid, comm) + FIELDS + REST, "/proc/1/stat")
    assert (parsed.comm, parsed.pid, parsed.ppid) == (comm, pid, 1)


@pytest.mark.parametrize("comm", [b") R 9 9 (", b"a b", b"a\nb", b"\xff\xfe", b"x) ", b")", b"(sd-pam)", b""])
def test_names_made_to_mislead(comm: bytes) -> None:
    parsed = task_stat.parse(b"4242 (%b) " % comm + FIELDS + REST, "/proc/4242/stat")
    assert parsed == task_stat.TaskStat(
        pid=4242,
        comm=comm,
        state="S",
        ppid=1,
        pgrp=4240,
        flags=4194304,
        user_ticks=812,
        system_ticks=96,
        threads=33,
        start_ticks=98765,
        processor=3,
    )
    assert parsed.cpu_ticks == 908
    assert not parsed.kernel_thread


def test_kernel_threads_are_known_by_their_flag() -> None:
    line = b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 3 0 0 20 0 1 0 7 0 0 " + b"0 " * 15 + b"1 0 0\n"
    assert task_stat.parse(line, "/proc/2/stat").kernel_thread


def test_an_old_kernel_prints_fewer_fields() -> None:
    assert task_stat.parse(b"4242 (init) " + FIELDS + b"\n", "/proc/4242/stat").processor is None


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"4242", b"4242 (x", b"(x) " + FIELDS, b"4242 (x) S 1 2", b"a (x) " + FIELDS, b"1 (x) S a " + FIELDS],
)
def test_truncated_records(data: bytes) -> None:
    with pytest.raises(ParseError) as caught:
        task_stat.parse(data, "/proc/4242/stat")
    assert caught.value.path == "/proc/4242/stat"


def test_our_own_record_is_read() -> None:
    with open("/proc/self/stat", "rb") as file:
        parsed = task_stat.parse(file.read(), "/proc/self/stat")
    assert parsed.state == "R"
    assert parsed.processor is not None
    assert parsed.start_ticks > 0
