"""One evaluation: verdicts first, then the findings that lasted, then what was meant so."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from numa_exporter.findings.intents import Intent, suppressed
from numa_exporter.findings.persistence import Moment, Streaks, grown, looks, remembered, settled, steady
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene, about
from numa_exporter.findings.verdict import judge_dimension
from numa_exporter.model.ids import JUDGED, Dimension, RankKey
from numa_exporter.model.placement import Machine, Placement
from numa_exporter.model.report import Finding, Judgement, Memory, Streak, Subject, Verdict
from numa_exporter.model.thresholds import Settings, Thresholds

Verdicts = dict[RankKey, dict[Dimension, Verdict]]
Streakbook = dict[tuple[str, Subject], Streak]


def fold(
    rules: Sequence[Rule], memory: Memory, placement: Placement, settings: Settings, intents: Sequence[Intent]
) -> Judgement:
    """Without a machine nothing is judged, and what is remembered waits."""
    machine, now = placement.machine, Moment.of(placement)
    if machine is None:
        return Judgement(memory=memory, verdicts={}, findings=())
    calm = steady(memory.steady, placement, settings.thresholds)
    old_enough = settled(placement, calm, settings.thresholds)
    verdicts, streaks = _verdicts(memory, placement, machine, settings.thresholds, old_enough)
    scene = Scene(
        placement=placement,
        machine=machine,
        limits=settings.thresholds,
        verdicts=verdicts,
        settled=old_enough,
        looks=looks(memory.looks, placement, machine),
    )
    findings: list[Finding] = []
    for rule in rules:
        for finding in rule.find(scene):
            lasting = grown(memory.streaks.get((finding.code, finding.subject)), now)
            streaks[finding.code, finding.subject] = lasting
            if _lasted(rule, lasting, settings.thresholds):
                since = lasting.since if finding.since is None else finding.since
                findings.append(replace(finding, since=since))
    return Judgement(
        memory=Memory(streaks=streaks, steady=calm, looks=scene.looks),
        verdicts=verdicts,
        findings=tuple(suppressed(findings, placement, intents)),
    )


def _verdicts(
    memory: Memory, placement: Placement, machine: Machine, limits: Thresholds, old_enough: frozenset[RankKey]
) -> tuple[Verdicts, Streakbook]:
    verdicts: Verdicts = {}
    streaks: Streakbook = dict(_of_absent(memory.streaks, placement))
    now = Moment.of(placement)
    for workload in placement.workloads:
        for rank in workload.ranks:
            verdicts[rank.key] = {}
            for dimension in JUDGED:
                key = (dimension, about(rank))
                verdict, streak = judge_dimension(
                    machine,
                    rank,
                    dimension,
                    limits,
                    now=now,
                    settled=rank.key in old_enough,
                    streak=memory.streaks.get(key),
                )
                verdicts[rank.key][dimension] = verdict
                if streak is not None:
                    streaks[key] = streak
    return verdicts, streaks


def _of_absent(streaks: Streaks, placement: Placement) -> Iterator[tuple[tuple[str, Subject], Streak]]:
    """Verdicts on ranks that are not here now, for as long as a gap may take."""
    now = Moment.of(placement)
    here = {rank.key for workload in placement.workloads for rank in workload.ranks}
    for key, streak in streaks.items():
        if key[0] in JUDGED and key[1].rank not in here and remembered(streak, now):
            yield key, streak


def _lasted(rule: Rule, streak: Streak, limits: Thresholds) -> bool:
    if rule.seconds is not None:
        return streak.seen - streak.began >= rule.seconds(limits)
    return not rule.looks or streak.count >= limits.evaluations
