"""policy_interleaved: the policy of the whole process spreads its memory over sockets: somebody asked for it.

Its memory is then not judged. A pool that is interleaved by a policy of its own is nobody's news.
"""

from collections.abc import Iterator

from numa_exporter.findings import evidence, remedy, words
from numa_exporter.findings.interleaved import interleaving, reaches_out
from numa_exporter.findings.remote import PRIVATE
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene, about, trust
from numa_exporter.model.report import Finding


def find(scene: Scene) -> Iterator[Finding]:
    for workload, rank in scene.ranks():
        policy = interleaving(rank)
        if policy is None or not reaches_out(rank, policy):
            continue
        told = remedy.bind(scene, workload, rank)
        yield Finding(
            code="policy_interleaved",
            level="info",
            subject=about(rank),
            sentence=f"{words.rank(scene.machine, workload, rank)} interleaves its memory over "
            f"{words.nodes(policy.nodes)} by its policy; its home is {words.nodes(rank.memory_home)}.",
            value=rank.misalignment.get("memory"),
            confidence=trust(rank),
            evidence=(*evidence.policy(rank), *evidence.pages(rank, PRIVATE)),
            remedy=told.remedy,
            remedy_note=f"Only if it was not meant so.\n{told.note}",
        )


RULE = Rule(
    code="policy_interleaved",
    levels=("info",),
    docs="A process interleaves all its memory over sockets; its memory is then not judged.",
    find=find,
    looks=True,
)
