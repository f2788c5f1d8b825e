"""docs/benchmarks.json and the docs/benchmarks.md that is printed from it."""

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.bench.benchmark import Result
from tests.bench.markdown import shown, table
from tests.bench.table import BENCHMARKS

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
HEAD = """# Benchmarks

Printed by `make bench` from docs/benchmarks.json. Each figure is a ratio against a named peer measured in the same run;
absolute times are those of the machine named beside them and say little elsewhere.
"""


def load() -> dict[str, Any]:
    """What was measured before, by benchmark."""
    file = DOCS / "benchmarks.json"
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return found


def save(name: str, result: Result) -> None:
    """Keep a result in place of the last one of that benchmark, and print the page."""
    bars = [
        {"what": bar.what, "kind": bar.kind, "limit": bar.limit, "measured": bar.measured, "met": bar.met}
        for bar in result.bars
    ]
    found = {
        "measured_on": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": machine(),
        "columns": list(result.columns),
        "rows": [list(row) for row in result.rows],
        "bars": bars,
        "notes": list(result.notes),
    }
    _keep({**load(), name: found})


def save_unable(name: str, reason: str) -> None:
    """Keep why a benchmark could not run, unless it once did."""
    _keep({name: {"unable": reason}, **load()})


def _keep(kept: Mapping[str, Any]) -> None:
    ordered = {row.name: kept[row.name] for row in BENCHMARKS if row.name in kept}
    ordered |= kept  # what a benchmark on another branch has measured stays
    (DOCS / "benchmarks.json").write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n")
    (DOCS / "benchmarks.md").write_text(page(ordered))


def machine() -> str:
    """CPU, number of CPUs, memory, kernel."""
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    kernel = ".".join(os.uname().release.split(".")[:2])
    return f"{model[1] if model else os.uname().machine}, {os.cpu_count()} CPUs, {memory:.0f} GiB, Linux {kernel}"


def page(kept: Mapping[str, Any]) -> str:
    parts = [HEAD]
    for row in BENCHMARKS:
        parts.append(f"\n## {row.title}\n\n{row.method}\n")
        found = kept.get(row.name)
        parts.append("\n" + "\n".join(_measured(found)) + "\n" if found else "\nNot measured yet.\n")
    return "".join(parts)


def _measured(found: Mapping[str, Any]) -> Iterator[str]:
    if "unable" in found:
        yield f"Not measured: {found['unable']}."
        return
    yield from table(found["columns"], found["rows"])
    yield ""
    for bar in found["bars"]:
        met = "met" if bar["met"] else "**not met**"
        yield f"- {bar['what']}: {shown(bar['measured'])}, {bar['kind']} {shown(bar['limit'])}: {met}"
    for note in found["notes"]:
        yield f"- {note}"
    yield f"\n{found['machine']}; {found['measured_on']}."
