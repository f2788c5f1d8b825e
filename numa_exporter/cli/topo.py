"""topo: the GPU × GPU × NIC matrix of PCIe paths, with CPU and NUMA affinity, from sysfs alone."""

import argparse
import sys
from collections.abc import Iterator

from numa_exporter.agent.look import Looker
from numa_exporter.agent.pipeline import Pipeline
from numa_exporter.cli import against, flags
from numa_exporter.cli.errors import EXIT_FOUND, EXIT_OK, EXIT_UNKNOWN
from numa_exporter.cli.report_text import Style, columns, harmless
from numa_exporter.formats import idlist
from numa_exporter.formats.smi_topology import SmiTopology
from numa_exporter.model.placement import Machine, PlacedGpu

NEEDED = ("topology", "gpus", "devices")

LEGEND = """
X    itself
PIX  at most one PCIe switch between them
PXB  several PCIe switches, one root port
PHB  one PCIe host bridge (the CPU's own)
NODE several host bridges of one NUMA node
SYS  across NUMA nodes
?    the kernel does not tell
NVLink and C2C links are not visible in sysfs and are not shown."""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("topo", help="PCIe paths and NUMA affinity of GPUs and NICs", allow_abbrev=False)
    parser.add_argument(
        "--against",
        metavar="FILE",
        help="hold a pasted table (nvidia-smi topo -m, rocm-smi --showtoponuma) against sysfs; exit 1 if they differ",
    )
    flags.add_host(parser)
    flags.add_judging(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    table = against.read(args.against) if args.against else None
    opened = flags.open_host(args)
    wanted = tuple(source for source in flags.sources(args) if source.name in NEEDED)
    settings = flags.settings(args, opened.recorded, every_look=True)
    report = Looker(Pipeline(opened.host, wanted, settings, opened.step)).look()
    machine = report.placement.machine
    if machine is None:
        print("The machine could not be read.", file=sys.stderr)
        return EXIT_UNKNOWN
    if table is not None:
        return _compare(table, machine)
    if not machine.gpus:
        print("No GPU is visible on this host.")
        return EXIT_OK
    style = Style.of(sys.stdout)
    print(harmless("\n".join(matrix(machine, style)), style))
    print(LEGEND)
    if machine.virtual:
        print("This is a virtual machine: its PCIe tree may not be the real one.")
    return EXIT_OK


def _compare(table: SmiTopology, machine: Machine) -> int:
    """0 nothing differs, 1 a cell does, 2 sysfs does not say."""
    names = {_name(number, placed): placed for number, placed in enumerate(machine.gpus)}
    found = list(against.doubts(table, machine, names))
    for doubt in found:
        print(harmless(str(doubt), Style()))
    print(against.verdict(found, len(table.gpus)))
    if any(doubt.ours is not None for doubt in found):
        return EXIT_FOUND
    return EXIT_UNKNOWN if found else EXIT_OK


def matrix(machine: Machine, style: Style) -> Iterator[str]:
    """One row and column a GPU, then the NICs and RDMA devices as columns."""
    names = {placed.uuid: _name(number, placed) for number, placed in enumerate(machine.gpus)}
    peers = sorted({path.peer for path in machine.paths if path.peer not in names})
    paths: dict[tuple[str, str], str] = {}
    for path in machine.paths:
        paths[path.uuid, path.peer] = paths[path.peer, path.uuid] = path.path
    others = [*names, *peers]
    header = ["", *(names.get(column, column) for column in others), "CPU AFFINITY", "NUMA", "TOLD BY"]
    rows = []
    for placed in machine.gpus:
        cells = ["X" if column == placed.uuid else paths.get((placed.uuid, column), "?") for column in others]
        rows.append([names[placed.uuid], *cells, *_affinity(machine, placed)])
    return columns(header, rows, style)


def _name(number: int, placed: PlacedGpu) -> str:
    return f"GPU{number if placed.gpu.index is None else placed.gpu.index}"


def _affinity(machine: Machine, placed: PlacedGpu) -> tuple[str, str, str]:
    nodes = [machine.node(node) for node in placed.affinity]
    cpus = frozenset(cpu for node in nodes if node for cpu in node.node.cpus)
    if not placed.affinity:
        return "unknown", "unknown", "-"
    return idlist.render(cpus) or "-", idlist.render(frozenset(placed.affinity)), placed.source or "-"
