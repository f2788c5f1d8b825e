from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import proc_stat
from numa_exporter.formats.parse_error import ParseError

TICKS = st.lists(st.integers(0, (1 << 63) - 1), min_size=8, max_size=10)


@given(st.dictionaries(st.integers(0, 8191), TICKS), st.integers(0, 1 << 40))
def test_sparse_cpus_come_back_as_written(cpus: dict[int, list[int]], btime: int) -> None:
    lines = ["cpu  1 2 3 4 5 6 7 8 9 10"]
    lines += [f"cpu{cpu} " + " ".join(map(str, ticks)) for cpu, ticks in cpus.items()]
    lines += ["intr 12 0 0", "ctxt 5", f"btime {btime}", "processes 8"]
    stat = proc_stat.parse("\n".join(lines).encode(), "/proc/stat")
    assert stat.boot_time == btime
    assert {cpu: list(ticks.values()) for cpu, ticks in stat.cpus.items()} == {
        cpu: ticks[:8] for cpu, ticks in cpus.items()
    }


def test_the_oldest_kernels_have_four_columns() -> None:
    stat = proc_stat.parse(b"cpu  1 2 3 4\ncpu0 1 2 3 4\n", "/proc/stat")
    assert stat.cpus == {0: {"user": 1, "nice": 2, "system": 3, "idle": 4}}
    assert stat.boot_time is None


def test_seconds() -> None:
    assert proc_stat.seconds({"user": 250, "idle": 1}, 100) == {"user": 2.5, "idle": 0.01}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"intr 5 0\n",
        b"cpu  1 2 3 4\ncpu0 1 2 x 4\n",
        b"cpu  1 2 3 4\ncpu0 1 2 -3 4\n",
        b"cpu  1 2 3 4\ncpu0 1 2 3\n",
        b"cpu  1 2 3 4\ncpux 1 2 3 4\n",
        b"cpu  1 2 3 4\nbtime soon\n",
    ],
)
def test_broken(data: bytes) -> None:
    with pytest.raises(ParseError):
        proc_stat.parse(data, "/proc/stat")


def test_this_kernels_own() -> None:
    stat = proc_stat.parse(Path("/proc/stat").read_bytes(), "/proc/stat")
    assert stat.boot_time is not None
    assert all(set(ticks) == set(proc_stat.MODES) for ticks in stat.cpus.values())
