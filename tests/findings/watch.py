"""A host watched for a while: samples joined and judged in order, as the agent does it."""

from collections.abc import Callable
from dataclasses import replace

from numa_exporter.findings import judge
from numa_exporter.findings.intents import Intent
from numa_exporter.model.ids import Dimension, RankKey
from numa_exporter.model.placement import Ledger
from numa_exporter.model.report import Finding, Judgement, Memory, Verdict
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import Settings
from numa_exporter.placement.join import join
from tests.builders import Task

Script = Callable[[float], Sample]
"""What the host says at so many seconds after noon."""


def watch(
    script: Script,
    seconds: float = 660.0,
    *,
    step: float = 15.0,
    settings: Settings | None = None,
    intents: tuple[Intent, ...] = (),
) -> list[Judgement]:
    """Every judgement, the first at 0 s."""
    chosen = settings or Settings()
    memory, ledger, judged = Memory(), Ledger(), []
    for number in range(int(seconds / step) + 1):
        placement = join(script(number * step), ledger, chosen)
        ledger = placement.ledger
        judged.append(judge(memory, placement, chosen, intents))
        memory = judged[-1].memory
    return judged


def last(script: Script, seconds: float = 660.0, *, intents: tuple[Intent, ...] = ()) -> Judgement:
    return watch(script, seconds, intents=intents)[-1]


def of(judgement: Judgement, code: str) -> list[Finding]:
    return [finding for finding in judgement.findings if finding.code == code]


def verdict(judgement: Judgement, dimension: Dimension) -> Verdict:
    """Of the only rank."""
    (dimensions,) = judgement.verdicts.values()
    return dimensions[dimension]


def key(judgement: Judgement) -> RankKey:
    (only,) = judgement.verdicts
    return only


def under(task: Task, policy: str, **policy_bytes: int) -> Task:
    """The task with this policy; ``policy_bytes`` are all its mapped bytes by policy word."""
    assert task.memory is not None
    return replace(task, memory=replace(task.memory, policy=policy, policy_bytes=policy_bytes or None))
