"""What came home from a guest in which the exporter looked at workloads, beside the kernel's own answers."""

import json
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.lab.runner import REPOSITORY, Lab

Json = Mapping[str, Any]
MIB = 1 << 20
# Limits for workloads of some MiB that are looked at for some seconds
LIMITS = MappingProxyType(
    {
        "memory-bytes": "4MiB",
        "memory-resident-bytes": "8MiB",
        "host-buffers-bytes": "4MiB",
        "pages-before-policy-bytes": "4MiB",
        "cpu-time-window-seconds": "4",
        "cpu-time-used-seconds": "0.3",
        "rank-age-seconds": "86400",
        "gpu-memory-steady-seconds": "1",
        "evaluations": "1",
        "gpu-node-bytes": "16MiB",
        "gpu-node-seconds": "1",
        "pcie-seconds": "1",
        "irq-rate": "20",
        "local-memory-free-bytes": "64MiB",
        "local-memory-foreign-pages": "4096",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """`bundle` is what `snapshot` wrote there, `document` the report that it made; `ranks` as tests.lab.observe has
    them, by workload; `runs` what the other commands said."""

    bundle: Path
    document: Json
    ranks: Mapping[str, Sequence[Json]]
    runs: Sequence[Json]

    def workload(self, name: str) -> Json:
        """The document's entry of the workload's container."""
        (found,) = (one for one in self.document["workloads"] if one["container_id"] == self.container(name))
        return dict(found)

    def container(self, name: str) -> str:
        return str(self.ranks[name][0]["container"])

    def told(self, name: str) -> list[tuple[Json, Json]]:
        """The document's ranks of a workload, each with what the kernel says of its process."""
        by_pid = {rank["said"]["pid"]: rank for rank in self.ranks[name]}
        return [(rank, by_pid[rank["processes"][0]["pid"]]) for rank in self.workload(name)["ranks"]]

    def findings(self, name: str | None = None) -> list[str]:
        """LEVEL CODE of each finding about a workload, or about the machine and what belongs to nobody."""
        own = self.workload(name) if name is not None else dict.fromkeys(("namespace", "pod", "container", "unit"))
        labels = {label: own[label] for label in ("namespace", "pod", "container", "unit")}
        return sorted(
            f"{finding['level']} {finding['code']}"
            for finding in self.document["findings"]
            if all(finding["subject"][label] == value for label, value in labels.items())
        )


def observe(
    lab: Lab,
    workloads: Sequence[str],
    *,
    options: Sequence[str] = (),
    runs: Sequence[Sequence[str]] = (),
    limits: Mapping[str, str] = LIMITS,
    window: str = "5s",
) -> Observation:
    """Boots the machine, starts the workloads and takes a snapshot there; then does the other `runs`
    with the same limits.

    `options` and `runs` are tests.lab.observe's. Two looks, each enough for a verdict: that it takes several, the
    tests of findings know.
    """
    flags = ["--looks", "2", "--window", window, *(f"--threshold.{name}={value}" for name, value in limits.items())]
    snapshot = ["snapshot", "-o", "/run/lab/out/bundle", *flags]
    words = [word for run in (snapshot, *([*run, *flags] for run in runs)) for word in ("--", *run)]
    result = lab.python("-m", "tests.lab.observe", *options, "--", *workloads, *words)
    assert result.exit_code == 0, result
    answer = json.loads(result.stdout)
    taken, *more = answer["runs"]
    assert taken["exit_code"] == 0, taken["stderr"]
    bundle = result.out / "bundle"
    return Observation(bundle=bundle, document=report_of(bundle), ranks=answer["ranks"], runs=more)


def report_of(bundle: Path) -> Json:
    """The report that a bundle's maker made."""
    with tarfile.open(bundle) as archive:
        member = archive.extractfile("report.json")
        assert member is not None
        return dict(json.load(member))


def replayed(bundle: Path, *arguments: str, program: str = "numa_exporter.cli.main") -> str:
    """What `numa-exporter report` says of a bundle here."""
    command = [sys.executable, "-m", program, "report", "--replay", str(bundle), *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, check=False, capture_output=True, text=True)
    assert done.returncode in (0, 1, 2) and not done.stderr, done.stderr
    return done.stdout
