"""Whole expositions, written down: three machines that stand well and one that is half blind.

UPDATE_GOLDENS=1 writes them anew; look at the difference before you commit it.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from numa_exporter.metrics import TABLE
from numa_exporter.metrics.exposition import families, text
from numa_exporter.model.health import Failure, SourceHealth
from numa_exporter.model.report import Report
from tests.builders import GIB, gb200, nps4, sample, task, two_socket
from tests.metrics.scenes import crowded, furnished, report, view

FOLDER = Path(__file__).parent / "golden"


def against_the_grain() -> Report:
    """An engine on GPU-0 whose memory and threads are on the other socket, for twelve minutes."""
    looks = range(49)
    return report(
        *(
            sample(
                furnished(two_socket(), look),
                task(1, gpus="GPU-0", mapped={"anon": {0: GIB, 1: 7 * GIB}}, cpu={0: 1.0 * look, 1: 10.0 * look}),
                at=15.0 * look,
            )
            for look in looks
        )
    )


def half_blind() -> Report:
    """NVML hangs, other users' pages are denied, a cgroup file is garbled: what is known is there, and no more."""
    whole = sample(furnished(two_socket(), 1), task(1, gpus="GPU-0", mapped={"anon": {0: GIB}}, cpu={0: 1.0}))
    broken = {
        "gpus": Failure(word="stuck", path="gpus", detail="no answer within 10 s"),
        "memory": Failure(word="denied", path="/proc/1/maps", detail="Permission denied"),
        "cgroups": Failure(word="garbled", path="/sys/fs/cgroup/memory.numa_stat", detail="line 1"),
        "traffic": Failure(word="absent", path="/sys/fs/resctrl", detail="No such file or directory"),
    }
    told = {
        name: SourceHealth(
            name=name,
            up=None if failure.word == "absent" else False,
            failure=failure,
            interval=15.0,
            failures={failure.word: 1},
        )
        for name, failure in broken.items()
    }
    later = replace(whole, taken_at=whole.taken_at + 15, monotonic=whole.monotonic + 15, gpus=None, memory=None)
    silent = tuple(replace(one, evidence=()) for one in later.processes.processes)  # type: ignore[union-attr]
    later = replace(later, processes=replace(later.processes, processes=silent), cgroups=None, health=told)  # type: ignore[type-var]
    return report(whole, later)


MACHINES: dict[str, Callable[[], Report]] = {
    "two_socket": against_the_grain,
    "nps4": lambda: report(crowded(nps4(), 1)),
    "gb200": lambda: report(crowded(gb200(), 1)),
    "half_blind": half_blind,
}


@pytest.mark.parametrize("name", MACHINES)
def test_the_exposition_is_as_written(name: str) -> None:
    page = text(families(TABLE, view(MACHINES[name]()))).decode()
    file = FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDENS"):
        file.write_text(page)
    assert page == file.read_text()


def test_the_half_blind_one_keeps_what_nvml_said_and_says_what_is_wrong() -> None:
    page = (FOLDER / "half_blind.txt").read_text()
    for line in (
        'numa_exporter_source_up{source="gpus"} 0.0',
        'numa_exporter_source_failures_total{failure="stuck",source="gpus"} 1.0',
        'numa_gpu_workload_info{evidence="nvml",rank="GPU-0",role="main",unit="vllm.service",uuid="GPU-0"} 1.0',
    ):
        assert line in page
    assert 'source_up{source="traffic"}' not in page
    assert "numa_rank_mapped_bytes" not in page
