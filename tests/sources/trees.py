"""Real machines' /proc and /sys as archives beside their oracles, unpacked once for each test run."""

import json
import re
import tarfile
from collections.abc import Callable
from typing import Any

import pytest

from numa_exporter.sources.live import ForeignTree
from numa_exporter.sources.roots import Roots
from tests.conftest import REPOSITORY

SYSFS = REPOSITORY.parent / "shared" / "data" / "sysfs"
NAMES = sorted(oracle.parent.name for oracle in SYSFS.glob("*/oracle.json"))

# Most of an archive is what no source here reads; leaving it packed makes unpacking ten times faster.
_UNREAD = re.compile(
    r"/(cache|cpuidle|cpufreq|power|memory[0-9]+|domain[0-9]+|thermal_throttle|acpi_cppc|irq|cluster)/"
)

_ROOT = re.compile(r"((?:.*/)?(?<!proc/))sys/(?:devices|kernel)/")

every_tree = pytest.mark.parametrize(
    "name",
    NAMES or [pytest.param("", marks=pytest.mark.skip(reason="needs the folder of real-world samples"))],
)


def raw(name: str) -> dict[str, Any]:
    """A plain read of the tree's files by somebody else's program."""
    return oracle(name)["raw"]


def oracle(name: str) -> dict[str, Any]:
    return json.loads((SYSFS / name / "oracle.json").read_text())


@pytest.fixture(scope="session")
def foreign_tree(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ForeignTree]:
    """The host whose root is wherever in the archive ``sys`` lies."""
    unpacked: dict[str, ForeignTree] = {}

    def host(name: str) -> ForeignTree:
        if name not in unpacked:
            folder = tmp_path_factory.mktemp("tree")
            (archive,) = (file for file in (SYSFS / name).iterdir() if {".tar", ".tgz"} & set(file.suffixes))
            with tarfile.open(archive) as tar:
                members = [member for member in tar if not _UNREAD.search(f"{member.name}/")]
                tar.extractall(folder, members, filter="tar")
            root = folder / min((match[1] for member in members if (match := _ROOT.match(member.name))), key=len)
            unpacked[name] = ForeignTree(Roots(rootfs=str(root)))
        return unpacked[name]

    return host
