"""Four hours of ticks by an accelerated clock, with processes that come and go: nothing grows."""

import gc
import os
import sys
import threading

from numa_exporter.agent.governor import Governor
from numa_exporter.agent.loop import Loop
from numa_exporter.agent.pipeline import Pipeline
from numa_exporter.model.thresholds import Settings
from numa_exporter.sources.table import SOURCES
from tests.agent.churn import TICK, ChurningHost

FOUR_HOURS = int(4 * 3600 / TICK)
SETTLED = int(2 * 3600 / TICK)
"""CPU accounts of ranks that are gone are kept for an hour: from then on as many are forgotten as are new."""


def footprint() -> tuple[int, int, int]:
    """Blocks that Python holds, open descriptors, threads."""
    gc.collect()
    return sys.getallocatedblocks(), len(os.listdir("/proc/self/fd")), threading.active_count()


async def test_nothing_grows_in_four_hours() -> None:
    host = ChurningHost()
    pipeline = Pipeline(host, SOURCES, Settings(), host.step)
    loop = Loop(pipeline, Governor(1e9), interval=TICK, page=True, max_series=None)
    settled = None
    totals: list[float] = []
    for tick in range(FOUR_HOURS):
        loop.open_metrics_asked()
        await loop.tick()
        assert loop.published is not None
        totals.append(sum(loop.published.report.health["memory"].failures.values()))
        if tick == SETTLED:
            settled = footprint()
    assert settled is not None and loop.published is not None
    blocks, descriptors, threads = footprint()
    assert blocks <= 1.05 * settled[0]
    assert (descriptors, threads) == settled[1:]

    report = loop.published.report
    assert len(report.placement.workloads) == 4
    assert len(report.placement.ledger.accounts) <= 3600 / TICK + 10
    assert len(report.memory.streaks) < 100
    # Whoever ended while its pages were read is counted each time, and is nobody's placement.
    assert totals[-1] >= FOUR_HOURS * 0.9
    assert report.health["topology"].up is True
    stays = report.placement.workloads[0].ranks[0]
    assert sum(stays.cpu.seconds.values()) > FOUR_HOURS * 0.9
