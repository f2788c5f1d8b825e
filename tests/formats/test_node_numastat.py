from pathlib import Path

import pytest

from numa_exporter.formats import node_numastat
from numa_exporter.formats.parse_error import ParseError


def test_the_kernel_s_names_become_events() -> None:
    data = b"numa_hit 6\nnuma_miss 5\nnuma_foreign 4\ninterleave_hit 3\nlocal_node 2\nother_node 1\nnew_key 9\n"
    assert node_numastat.parse(data, "numastat") == {
        "hit": 6,
        "miss": 5,
        "foreign": 4,
        "interleave": 3,
        "local": 2,
        "other": 1,
    }


def test_a_line_the_kernel_lacks_is_absent_not_zero() -> None:
    assert node_numastat.parse(b"numa_hit 0\n", "numastat") == {"hit": 0}


@pytest.mark.parametrize("data", [b"", b"numa_hit\n", b"numa_hit -1\n", b"numa_hit 1 2\n"])
def test_broken_lines_are_refused(data: bytes) -> None:
    with pytest.raises(ParseError):
        node_numastat.parse(data, "numastat")


def test_a_real_file(shared_data: Path) -> None:
    folder = shared_data / "node/node_exporter/sys/devices/system/node"
    parsed = node_numastat.parse((folder / "node1/numastat").read_bytes(), "numastat")
    assert parsed["miss"] == 59858626709
    assert parsed["other"] == 59860526920
