import json
from pathlib import Path

import pytest

from numa_exporter.formats import smi_topology
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.formats.smi_topology import GpuRow

HEADER = "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"


def rows(text: str) -> tuple[GpuRow, ...]:
    return smi_topology.parse(text.encode(), "topo.txt").gpus


def test_a_table_of_today() -> None:
    text = (
        HEADER
        + "GPU0\t X \tNV18\tPIX\t0-71\t0,3-5\t\t2\n"
        + "GPU1\tNV18\t X \tSYS\t72-143\t1\t\tN/A\n"
        + "NIC0\tPIX\tSYS\t X \t\t\t\t\n\nNIC Legend:\n\n  NIC0: mlx5_0\n"
    )
    table = smi_topology.parse(text.encode(), "topo.txt")
    assert table.nics == {"NIC0": "mlx5_0"}
    assert table.gpus == (
        GpuRow(
            index=0,
            cpu_affinity="0-71",
            numa_affinity=frozenset({0, 3, 4, 5}),
            gpu_numa_id=2,
            links={"GPU1": "NV18", "NIC0": "PIX"},
        ),
        GpuRow(index=1, cpu_affinity="72-143", numa_affinity=frozenset({1}), links={"GPU0": "NV18", "NIC0": "SYS"}),
    )


def test_the_header_of_a_terminal_is_underlined() -> None:
    text = "noise\n\t\x1b[4mGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\nGPU0\t X \t0-19\t0\t\tN/A\n"
    assert rows(text)[0].cpu_affinity == "0-19"


def test_a_cell_that_was_written_over() -> None:
    (row,) = rows(HEADER + "GPU0\t X \tNV12\tPH0-115\t0-3\t\tN/A\n")
    assert (row.cpu_affinity, row.numa_affinity, dict(row.links)) == ("0-115", frozenset(range(4)), {"GPU1": "NV12"})


def test_an_empty_cpu_affinity_moves_no_column() -> None:
    (row,) = rows(HEADER + "GPU0\t X \tSYS\tSYS\t\t1\t\tN/A\n")
    assert (row.cpu_affinity, row.numa_affinity, row.gpu_numa_id) == (None, frozenset({1}), None)


@pytest.mark.parametrize(
    ("row", "cpus", "nodes"),
    [
        ("GPU0\t X \tSYS\tPIX\t0-71\t1", "0-71", frozenset({1})),
        ("GPU0     X      SYS     PIX     0-71", "0-71", None),
        ("GPU0\t X \tSYS\tPIX", None, None),
        ("GPU0\t X \tSYS", None, None),
    ],
)
def test_a_row_that_was_cut_keeps_what_it_has(row: str, cpus: str | None, nodes: frozenset[int] | None) -> None:
    (parsed,) = rows(HEADER + row + "\n")
    assert (parsed.cpu_affinity, parsed.numa_affinity, parsed.gpu_numa_id) == (cpus, nodes, None)


def test_rocm_without_an_affinity() -> None:
    (row,) = rows("GPU[0]\t\t: (Topology) Numa Node: 0\nGPU[0]\t\t: (Topology) Numa Affinity: -1\n")
    assert (row.numa_node, row.numa_affinity) == (0, None)


@pytest.mark.parametrize(
    "text", ["", "no table", HEADER, HEADER + "GPU0 X what PIX 0-3 0 N/A\n", HEADER + "GPU0 X SYS PIX 0-3 a N/A\n"]
)
def test_what_is_no_table(text: str) -> None:
    with pytest.raises(ParseError):
        rows(text)


def test_every_collected_table(shared_data: Path) -> None:
    paths = sorted((shared_data / "topo").glob("*.expect.json"))
    assert paths
    for path in paths:
        expect = json.loads(path.read_text())["gpus"]
        parsed = rows(path.with_name(path.name.replace(".expect.json", ".txt")).read_text())
        assert [row.index for row in parsed] == [gpu["index"] for gpu in expect], path
        for row, gpu in zip(parsed, expect, strict=True):
            nodes = gpu["numa_affinity"]
            nodes = [nodes] if isinstance(nodes, int) else nodes
            assert row.numa_affinity == (None if nodes is None else set(nodes)), path
            assert row.cpu_affinity == gpu.get("cpu_affinity"), path
            assert row.gpu_numa_id == gpu.get("gpu_numa_id"), path
            assert row.numa_node == gpu.get("numa_node"), path


def test_tables_inside_of_full_captures(shared_data: Path) -> None:
    paths = sorted((shared_data / "topo/captures").glob("*.txt"))
    assert paths
    for path in paths:
        (row,) = rows(path.read_text())
        assert (row.index, row.numa_affinity) == (0, frozenset({0})), path
