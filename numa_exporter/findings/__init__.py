"""What is wrong, and what to do: a pure fold over (memory, placement)."""

from numa_exporter.findings import (
    affinity_unknown,
    cpu_remote,
    cpuset_off_home,
    cpuset_unconfined,
    device_opened_everywhere,
    gpu_node_polluted,
    gpus_span_sockets,
    grant_broken,
    host_buffers_remote,
    irq_remote,
    local_memory_exhausted,
    memory_remote,
    mems_wider_than_cpus,
    not_exclusive,
    numa_balancing_on,
    pages_before_policy,
    pcie_degraded,
    policy_interleaved,
    policy_note,
    policy_off_home,
    process_spans_sockets,
    rank_swapped,
    single_node,
    threads_escaped,
    virtual_topology,
)
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
    cpuset_off_home.RULE,
    policy_off_home.RULE,
    rank_swapped.RULE,
    grant_broken.RULE,
    local_memory_exhausted.RULE,
    gpu_node_polluted.RULE,
    threads_escaped.RULE,
    cpuset_unconfined.RULE,
    mems_wider_than_cpus.RULE,
    pages_before_policy.RULE,
    gpus_span_sockets.RULE,
    policy_interleaved.RULE,
    process_spans_sockets.RULE,
    not_exclusive.RULE,
    affinity_unknown.RULE,
    irq_remote.RULE,
    pcie_degraded.RULE,
    numa_balancing_on.RULE,
    single_node.RULE,
    virtual_topology.RULE,
    device_opened_everywhere.RULE,
    policy_note.RULE,
)
"""Warnings first."""


def judge(memory: Memory, placement: Placement, settings: Settings, intents: tuple[Intent, ...] = ()) -> Judgement:
    """One evaluation. ``memory`` is what the one before left, an empty one at first."""
    return fold(FINDINGS, memory, placement, settings, intents)
