import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import distance
from numa_exporter.formats.parse_error import ParseError


@given(st.dictionaries(st.integers(min_value=0, max_value=1023), st.integers(min_value=10, max_value=255), min_size=1))
def test_columns_follow_the_online_nodes_in_ascending_order(row: dict[int, int]) -> None:
    text = " ".join(str(row[node]) for node in sorted(row))
    assert distance.parse(f"{text}\n".encode(), "distance", set(row)) == row


@pytest.mark.parametrize("data", [b"10\n", b"10 21 31\n", b"", b"10 -1\n", b"10 far\n"])
def test_a_row_of_another_length_or_kind_is_refused(data: bytes) -> None:
    with pytest.raises(ParseError):
        distance.parse(data, "distance", {0, 1})


def test_a_real_machine_with_sparse_node_ids(shared_data: Path) -> None:
    archive = shared_data / "sysfs/hwloc-48amd64-4pa2n6c-sparse/48amd64-4pa2n6c-sparse.tar.bz2"
    with tarfile.open(archive) as tar:
        rows = {
            int(member.name.split("/node")[-1].split("/")[0]): reader.read()
            for member in tar
            if member.name.endswith("/distance") and (reader := tar.extractfile(member)) is not None
        }
    assert max(rows) >= len(rows), "ids are sparse"
    for node, data in rows.items():
        assert distance.parse(data, "distance", rows.keys())[node] == 10
