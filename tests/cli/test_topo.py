"""topo: the matrix from sysfs alone, and a pasted table held against it."""

from pathlib import Path

import pytest

from numa_exporter.cli import against
from numa_exporter.cli.errors import UsageError
from numa_exporter.cli.main import main
from numa_exporter.cli.report_text import Style
from numa_exporter.cli.topo import matrix
from numa_exporter.formats import smi_topology
from numa_exporter.model.placement import Machine
from tests.builders import Parts, gb200, placed, sample, single_node, two_socket

HEADER = "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
GPU0 = "GPU0\t X \tSYS\tPIX\tSYS\t0-15,32-47\t0\t\tN/A\n"
GPU1 = "GPU1\tSYS\t X \tSYS\tPIX\t16-31,48-63\t1\t\tN/A\n"
LEGEND = "\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n"


def machine(parts: Parts) -> Machine:
    found = placed(sample(parts)).machine
    assert found is not None
    return found


def told(text: str, parts: Parts) -> list[str]:
    here = machine(parts)
    names = {f"GPU{number}": gpu for number, gpu in enumerate(here.gpus)}
    return [str(doubt) for doubt in against.doubts(smi_topology.parse(text.encode(), "topo.txt"), here, names)]


def test_the_matrix_of_two_sockets() -> None:
    assert list(matrix(machine(two_socket(2)), Style())) == [
        "      GPU0  GPU1  mlx5_0  mlx5_1  CPU AFFINITY  NUMA  TOLD BY",
        "GPU0  X     SYS   PIX     SYS     0-15,32-47    0     sysfs",
        "GPU1  SYS   X     SYS     PIX     16-31,48-63   1     sysfs",
    ]


def test_an_unknown_affinity_is_said() -> None:
    parts = two_socket(1).change_gpus(function=None)
    assert list(matrix(machine(parts), Style()))[1] == "GPU0  X     unknown       unknown  -"


def test_a_table_that_agrees() -> None:
    assert told(HEADER + GPU0 + GPU1 + LEGEND, two_socket(2)) == []


@pytest.mark.parametrize(
    ("row", "doubt"),
    [
        (GPU0.replace("\t0\t", "\t1\t"), "GPU0 NUMA affinity: the table says 1, sysfs says 0"),
        (GPU0.replace("0-15,32-47", "0-20"), "GPU0 CPU affinity: the table says 0-20, sysfs says 0-15,32-47"),
        (GPU0.replace("PIX", "NODE"), "GPU0 to NIC0 (mlx5_0): the table says NODE, sysfs says PIX"),
        (GPU0.replace("SYS", "PHB", 1), "GPU0 to GPU1: the table says PHB, sysfs says SYS"),
        (GPU0.replace("N/A", "2"), "GPU0 memory: the table says node 2, sysfs does not say"),
    ],
)
def test_each_cell_that_differs_is_said(row: str, doubt: str) -> None:
    assert told(HEADER + row + GPU1 + LEGEND, two_socket(2)) == [doubt]


def test_what_a_table_may_leave_out() -> None:
    """NVLink cells, a CPU list that was cut or narrowed to the caller's cpuset."""
    row = GPU0.replace("SYS", "NV18", 1)
    assert told(HEADER + row.replace("0-15,32-47", "0-15,32-4") + GPU1 + LEGEND, two_socket(2)) == []
    assert told(HEADER + row.replace("0-15,32-47", "3") + GPU1 + LEGEND, two_socket(2)) == []


def test_gpus_that_only_one_side_has() -> None:
    assert told(HEADER + GPU0 + GPU1 + LEGEND, two_socket(1)) == [
        "GPU1: the table says present, sysfs says absent",
        "GPU0 to GPU1: the table says SYS, sysfs does not say",
        "GPU0 to NIC1 (mlx5_1): the table says SYS, sysfs does not say",
    ]


def test_gb200_lists_its_memory_nodes_too() -> None:
    header = "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    found = told(f"{header}GPU0\t X \t0-71\t0,3-9,11-17\t\t2\n", gb200())
    assert found == [f"GPU{number}: the table says absent, sysfs says present" for number in (1, 2, 3)]


def test_rocm() -> None:
    parts = two_socket(1)
    assert told("GPU[0]\t: (Topology) Numa Node: 0\nGPU[0]\t: (Topology) Numa Affinity: 0\n", parts) == []
    assert told("GPU[0]\t: (Topology) Numa Node: 1\nGPU[0]\t: (Topology) Numa Affinity: -1\n", parts) == [
        "GPU0 NUMA affinity: the table says 1, sysfs says 0"
    ]


def test_a_firmware_that_does_not_say_leaves_it_to_the_only_node() -> None:
    header = "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    assert told(f"{header}GPU0\t X \t0-7\t0\t\tN/A\n", single_node()) == []


@pytest.mark.parametrize("content", [None, "no table here\n"])
def test_a_file_without_a_table_is_one_line(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "topo.txt"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UsageError, match=r"^--against: .*topo\.txt"):
        against.read(str(file))
    assert main(["topo", "--against", str(file)]) == 2


def test_every_collected_table_can_be_held_against_a_machine(shared_data: Path) -> None:
    for path in sorted((shared_data / "topo").glob("*.txt")):
        assert all(line.startswith("GPU") for line in told(path.read_text(), two_socket())), path
    # The one machine among them that is like this one.
    assert told((shared_data / "topo" / "rocm-showtoponuma-8gpu.txt").read_text(), two_socket()) == []
