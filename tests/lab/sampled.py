"""Run in the guest: processes with pages on several nodes, sampled look by look, and what a walk of them finds.

    python -m tests.lab.sampled LOOKS node:0,anon:24,node:1,anon:12 node:1,islands:64:20

prints for each process {"means", "walk": {backing: {node: bytes}}, "looks": [{"withheld", "backings": {backing:
{"shares", "effective"}}}]}. The steps are those of tests.sources.mapper.
"""

import json
import subprocess
import sys
from typing import Any

from numa_exporter.model.ids import ProcessKey
from numa_exporter.model.processes import MappedMemory
from numa_exporter.sources.live import LiveHost
from numa_exporter.sources.mapped_pages import MappedPages
from numa_exporter.sources.page_walk import PageSizes
from numa_exporter.sources.roots import Roots


def main() -> None:
    looks, *processes = sys.argv[1:]
    print(json.dumps([sampled(int(looks), steps.split(",")) for steps in processes]))


def sampled(looks: int, steps: list[str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.sources.mapper", *steps]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
        try:
            assert target.stdout is not None and target.stdout.readline() == "ready\n"
            host = LiveHost(Roots())
            key = ProcessKey(pid=target.pid, start_ticks=host.started(target.pid, "lab"))
            sampler = MappedPages("sample")
            found = [sampler.read(host, key, PageSizes(), host.now("lab")) for _ in range(looks)]
            walk = MappedPages("walk").read(host, key, PageSizes(), host.now("lab"))
        finally:
            target.kill()
    means = sampler.sampling.means if sampler.sampling else None
    return {"means": means, "walk": walk.mapped, "looks": [told(look) for look in found]}


def told(look: MappedMemory) -> dict[str, Any]:
    backings = {
        backing: {"shares": estimate.shares, "effective": estimate.effective_samples}
        for backing, estimate in (look.estimates or {}).items()
    }
    return {"withheld": look.withheld, "backings": backings}


if __name__ == "__main__":
    main()
