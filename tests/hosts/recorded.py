"""The machines of tests/hosts: each a bundle that the lab brought home, and what the exporter makes of it.

Goldens hold what is true of the machine, and of prose only one sentence a finding: where the report's layout, a remedy
or a HELP text is reworded, they stand.
"""

import json
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from numa_exporter.cli.main import main

HOSTS = Path(__file__).resolve().parent
BUNDLE = "bundle.tar.gz"
PLACEMENT = ("machine", "gpus", "observers", "attribution", "kubelet", "workloads")
"""Of the document: what the kernel and the driver said, and what it means."""


def names() -> list[str]:
    return sorted(path.parent.name for path in HOSTS.glob(f"*/{BUNDLE}"))


def goldens(folder: Path) -> Mapping[str, str]:
    """File name to text: findings, placement, metrics."""
    document = json.loads(replay(folder, "--json"))
    placement = {key: document[key] for key in PLACEMENT}
    host = {key: document["host"][key] for key in ("kernel", "cgroup")}
    return {
        "findings.txt": "".join(f"{_line(finding)}\n" for finding in document["findings"]),
        "placement.json": json.dumps({"host": host, **placement}, indent=1, ensure_ascii=False) + "\n",
        "metrics.txt": "".join(f"{line}\n" for line in samples(folder)),
    }


def samples(folder: Path) -> list[str]:
    """Lines of the metrics that speak of the machine, not of the exporter."""
    lines = replay(folder, "--metrics").splitlines()
    return [line for line in lines if line.startswith("numa_") and not line.startswith("numa_exporter_")]


def replay(folder: Path, *arguments: str) -> str:
    """What `numa-exporter report` says of the machine. Nothing may go to standard error."""
    said, complaint = StringIO(), StringIO()
    with redirect_stdout(said), redirect_stderr(complaint):
        status = main(["report", "--replay", str(folder / BUNDLE), *arguments])
    assert status in (0, 1, 2) and not complaint.getvalue(), complaint.getvalue()
    return said.getvalue()


def _line(finding: Mapping[str, Any]) -> str:
    return f"{finding['level']:7} {finding['code']:24} {finding['sentence']}"
