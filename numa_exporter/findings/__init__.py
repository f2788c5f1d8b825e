"""What is wrong, and what to do: a pure fold over (memory, placement)."""

from numa_exporter.findings import cpu_remote, host_buffers_remote, memory_remote
from numa_exporter.findings.fold import fold
from numa_exporter.findings.intents import Intent
from numa_exporter.findings.rule import Rule
from numa_exporter.model.placement import Placement
from numa_exporter.model.report import Judgement, Memory
from numa_exporter.model.thresholds import Settings

FINDINGS: tuple[Rule, ...] = (
    memory_remote.RULE,
    host_buffers_remote.RULE,
    cpu_remote.RULE,
)


def judge(memory: Memory, placement: Placement, settings: Settings, intents: tuple[Intent, ...] = ()) -> Judgement:
    """One evaluation. ``memory`` is what the one before left, an empty one at first."""
    return fold(FINDINGS, memory, placement, settings, intents)
