"""The topology tables of nvidia-smi and rocm-smi: what people paste, and an answer to compare ours with.

``nvidia-smi topo -m`` (or -mp), NVIDIA's nvidia-smi manual; ``rocm-smi --showtoponuma``::

            GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity   GPU NUMA ID
    GPU0     X      NV12    PXB     48-63,176-191   3               N/A
    NIC0    PXB     PXB      X

    NIC Legend:
      NIC0: mlx5_0

    GPU[0]          : (Topology) Numa Node: 3
    GPU[0]          : (Topology) Numa Affinity: 3

CPU and node ids. nvidia-smi cuts a long CPU list to what fits, writes over the column before it, counts nodes
without CPUs into NUMA Affinity (GB200), and shows only what the caller's cpuset allows.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from numa_exporter.formats import idlist
from numa_exporter.formats.parse_error import ParseError

_COLUMNS = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")
_COLUMN = re.compile(r"CPU Affinity|NUMA Affinity|GPU NUMA ID|\S+")
_HEADER = re.compile(r"\s*GPU[0-9]+\s.*CPU Affinity")
_COLOUR = re.compile(r"\x1b?\[[0-9;]*m")
_LINK = re.compile(r"X|SYS|NODE|PHB|PXB|PIX|NV[0-9]+|PSB|SOC|C2C|N/A|OK|NS|ERR!?")
_OVERWRITTEN = re.compile(r"[A-Z]+(?P<list>[0-9][0-9,-]*)")
_GPU = re.compile(r"GPU[0-9]{1,9}")
_NIC = re.compile(r"\s*(NIC[0-9]+):\s+(\S+)\s*")
_ROCM = re.compile(r"GPU\[([0-9]{1,9})\]\s*:\s*\(Topology\) Numa (Node|Affinity):\s*(-?[0-9]{1,9})\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRow:
    """One GPU's row. None where the table says N/A or has no such column.

    ``cpu_affinity`` is text, for it can be cut short. ``numa_node`` is rocm-smi's only, ``gpu_numa_id`` (the node of
    the GPU's own memory) nvidia-smi's only. ``links`` maps other devices of the table to SYS, NODE, PHB, PXB, PIX or
    NV#; a cell that the CPU list was written over is left out.
    """

    index: int
    cpu_affinity: str | None = None
    numa_affinity: frozenset[int] | None = None
    gpu_numa_id: int | None = None
    numa_node: int | None = None
    links: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SmiTopology:
    """GPUs by index, and nvidia-smi's NIC names (``NIC0`` -> ``mlx5_0``)."""

    gpus: tuple[GpuRow, ...]
    nics: Mapping[str, str]


def parse(data: bytes, path: str) -> SmiTopology:
    """The table, wherever it stands in a longer text; raises ParseError if there is none or a row is broken."""
    lines = _COLOUR.sub("", data.decode("utf-8", "backslashreplace")).splitlines()
    gpus = list(_nvidia(lines, path)) or list(_rocm(lines))
    if not gpus:
        first = data.strip().partition(b"\n")[0]
        raise ParseError(path, 1, first, "a table of nvidia-smi topo -m or rocm-smi --showtoponuma")
    nics = {match[1]: match[2] for match in map(_NIC.fullmatch, lines) if match}
    return SmiTopology(gpus=tuple(gpus), nics=nics)


def _nvidia(lines: Sequence[str], path: str) -> Iterator[GpuRow]:
    header = next((at for at, line in enumerate(lines) if _HEADER.match(line)), None)
    if header is None:
        return
    names = _COLUMN.findall(lines[header])
    devices = [name for name in names if name not in _COLUMNS]
    columns = [name for name in names if name in _COLUMNS]
    for at in range(header + 1, len(lines)):
        words = lines[at].split()
        if not words or words[0] not in devices:
            return
        if _GPU.fullmatch(words[0]):
            yield _row(words, devices, columns, path, at + 1, lines[at])


def _row(words: list[str], devices: list[str], columns: list[str], path: str, number: int, line: str) -> GpuRow:
    links, rest = words[1 : len(devices) + 1], words[len(devices) + 1 :]
    overwritten = _OVERWRITTEN.fullmatch(links[-1]) if links and not _LINK.fullmatch(links[-1]) else None
    if overwritten:
        rest = [overwritten["list"], *rest]
        links = links[:-1]
    if not all(map(_LINK.fullmatch, links)):
        raise ParseError(path, number, line.encode(), f"{len(devices)} links such as PIX, then affinities")
    # nvidia-smi can leave the CPU list empty; a row that was cut lacks its end instead.
    empty = line.split("\t")[len(devices) + 1 : len(devices) + 2] == [""]
    if empty:
        columns = columns[1:]
    cells = dict(zip(columns, rest, strict=False))
    values = {column: None if cells.get(column) in (None, "N/A") else cells[column] for column in columns}
    nodes, memory_node = values.get("NUMA Affinity"), values.get("GPU NUMA ID")
    return GpuRow(
        index=int(words[0].removeprefix("GPU")),
        cpu_affinity=values.get("CPU Affinity"),
        numa_affinity=None if nodes is None else idlist.parse(nodes, path, number),
        gpu_numa_id=None if memory_node is None else min(idlist.parse(memory_node, path, number)),
        links={device: link for device, link in zip(devices, links, strict=False) if link != "X"},
    )


def _rocm(lines: Sequence[str]) -> Iterator[GpuRow]:
    found: dict[int, dict[str, int]] = {}
    for match in filter(None, map(_ROCM.search, lines)):
        found.setdefault(int(match[1]), {})[match[2]] = int(match[3])
    for index, values in sorted(found.items()):
        node, affinity = values.get("Node", -1), values.get("Affinity", -1)
        yield GpuRow(
            index=index,
            numa_node=node if node >= 0 else None,
            numa_affinity=frozenset({affinity}) if affinity >= 0 else None,
            links={},
        )
