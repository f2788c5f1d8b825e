"""Every file of a known kind in every real machine's tree parses, and says what that kind must say."""

import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from numa_exporter.formats import (
    cpuinfo,
    distance,
    idlist,
    interrupts,
    meminfo,
    node_meminfo,
    node_numastat,
    number,
    pci_address,
    pci_class,
    pci_link,
    vmstat,
)

PARSERS: dict[str, Callable[[bytes, str], object]] = {
    "node/meminfo": node_meminfo.parse,
    "node/numastat": node_numastat.parse,
    "node/vmstat": vmstat.parse,
    "proc/meminfo": meminfo.parse,
    "proc/vmstat": vmstat.parse,
    "proc/cpuinfo": cpuinfo.parse,
    "proc/interrupts": interrupts.parse,
    "pci/numa_node": number.parse,
    "pci/vendor": number.parse_hex,
    "pci/class": number.parse_hex,
    "pci/current_link_speed": pci_link.parse_speed,
    "pci/current_link_width": pci_link.parse_width,
    "pci/max_link_speed": pci_link.parse_speed,
    "pci/max_link_width": pci_link.parse_width,
}
KNOWN = {*PARSERS, "node/online", "node/distance"}
# Tens of thousands of cache and topology files each, which no parser here reads.
CPU_FILES_ONLY = ("nri-", "lscpu-x86_64-epyc")
# Its node 0 was taken offline with an editor, and the distances kept their two columns.
EDITED_BY_HAND = "hwloc-offline-cpu0-node0"


def kind(path: str) -> str:
    """``node/meminfo``, ``proc/vmstat``, ``pci/class``: what PARSERS is keyed by."""
    *_, directory, name = ["", "", *path.split("/")]
    if pci_address.parse(directory) is not None:
        return f"pci/{name}"
    return f"{directory.rstrip('0123456789')}/{name}"


@pytest.fixture(scope="module")
def trees(shared_data: Path) -> dict[str, dict[str, bytes]]:
    """Machine → path → content of the known files; tar pads some sysfs files with NULs."""
    machines: dict[str, dict[str, bytes]] = {}
    for archive in sorted((shared_data / "sysfs").glob("*/*.t*")):
        machine = archive.parent.name
        if archive.suffix not in {".tgz", ".gz", ".bz2", ".xz"} or machine.startswith(CPU_FILES_ONLY):
            continue
        with tarfile.open(archive) as tar:
            machines[machine] = {
                member.name: reader.read().rstrip(b"\0")
                for member in tar
                if member.isfile() and kind(member.name) in KNOWN and (reader := tar.extractfile(member))
            }
    return machines


def test_every_known_file_parses(trees: dict[str, dict[str, bytes]]) -> None:
    parsed: Counter[str] = Counter()
    for machine, files in trees.items():
        for path, data in files.items():
            if (parse := PARSERS.get(kind(path))) is not None:
                parse(data, f"{machine}:{path}")
                parsed[kind(path)] += 1
    assert parsed.keys() == PARSERS.keys()
    assert parsed["node/meminfo"] > 100 and parsed["pci/class"] > 500


def test_a_node_is_nearest_to_itself(trees: dict[str, dict[str, bytes]]) -> None:
    seen = 0
    for machine, files in trees.items():
        online = next((data for path, data in files.items() if path.endswith("/system/node/online")), None)
        if online is None or machine == EDITED_BY_HAND:
            continue
        for path, data in files.items():
            if kind(path) == "node/distance":
                row = distance.parse(data, f"{machine}:{path}", idlist.parse(online, machine))
                assert row[int(path.split("/")[-2].removeprefix("node"))] == min(row.values()), path
                seen += 1
    assert seen > 50


def test_the_only_gpu_in_these_trees_is_the_nvidia_one(trees: dict[str, dict[str, bytes]]) -> None:
    gpus = [
        (machine, path.split("/")[-2])
        for machine, files in trees.items()
        for path, data in files.items()
        if kind(path) == "pci/class"
        and (vendor := files.get(path.removesuffix("class") + "vendor"))
        and pci_class.is_gpu(number.parse_hex(vendor, path), number.parse_hex(data, path))
    ]
    assert gpus == [("ghw-linux-amd64-accel-nvidia", "0000:06:00.0")]
