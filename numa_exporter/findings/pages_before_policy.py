"""pages_before_policy: a rank is bound to its home, yet much of its memory is remote: allocated before the bind."""

from collections.abc import Iterator

from numa_exporter.findings import evidence, remedy, words
from numa_exporter.findings.policies import BINDING, policy_of
from numa_exporter.findings.remote import PRIVATE
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene, about, trust
from numa_exporter.model.placement import Rank
from numa_exporter.model.report import Finding
from numa_exporter.model.thresholds import Thresholds


def find(scene: Scene) -> Iterator[Finding]:
    for workload, rank in scene.ranks():
        if rank.key not in scene.settled or not _bound_within_home(rank) or not _far(rank, scene.limits):
            continue
        told = remedy.bind(scene, workload, rank)
        ratio, amount = rank.misalignment["memory"], rank.remote["memory"]
        yield Finding(
            code="pages_before_policy",
            level="info",
            subject=about(rank),
            sentence=f"{words.rank(scene.machine, workload, rank)} is bound to its home ({rank.policy}), but "
            f"{words.share(ratio)} of its private memory ({words.size(amount)}) is on another socket, from before.",
            value=ratio,
            limit=scene.limits.pages_before_policy,
            confidence=trust(rank),
            evidence=(*evidence.policy(rank), *evidence.pages(rank, PRIVATE)),
            remedy=told.remedy,
            remedy_note=f"Restart it, bound before it allocates; do not migrate its pages.\n{told.note}",
        )


def _bound_within_home(rank: Rank) -> bool:
    policy = policy_of(rank.policy)
    if policy is None or policy.mode not in BINDING or not policy.nodes:
        return False
    return all(rank.mapped_locality.get(node) in ("local", "device") for node in policy.nodes)


def _far(rank: Rank, limits: Thresholds) -> bool:
    ratio, width = rank.misalignment.get("memory"), rank.half_width.get("memory")
    if ratio is None or width is None or width > limits.memory_error or rank.unjudged is not None:
        return False
    enough = rank.remote["memory"] >= limits.pages_before_policy_bytes
    return enough and ratio - width >= limits.pages_before_policy


RULE = Rule(
    code="pages_before_policy",
    levels=("info",),
    docs="A rank is bound to its home, but pages that it had before the bind are remote.",
    find=find,
    looks=True,
)
