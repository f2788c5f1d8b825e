"""policy_off_home: a memory policy that binds to, or prefers, nodes none of which is home."""

from collections.abc import Iterator

from numa_exporter.findings import evidence, remedy, words
from numa_exporter.findings.policies import BINDING, PREFERRING, policy_of
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene, about, trust
from numa_exporter.model.report import Finding


def find(scene: Scene) -> Iterator[Finding]:
    for workload, rank in scene.ranks():
        policy = policy_of(rank.policy)
        if policy is None or policy.mode not in (*BINDING, *PREFERRING) or not rank.memory_home:
            continue
        reached = {rank.mapped_locality.get(node) for node in policy.nodes}
        if not reached or reached & {"local", "device", None}:
            continue
        told = remedy.bind(scene, workload, rank)
        yield Finding(
            code="policy_off_home",
            level="info" if "socket" in reached else "warning",
            subject=about(rank),
            sentence=f"{words.rank(scene.machine, workload, rank)} allocates by the policy {rank.policy}, and its home "
            f"is {words.nodes(rank.memory_home)}.",
            value=0.0,
            limit=1.0,
            confidence=trust(rank),
            evidence=(*evidence.policy(rank), *evidence.home(scene.machine, rank)),
            remedy=told.remedy,
            remedy_note=f"Look for numactl in its command, or an engine's flag, that binds it there.\n{told.note}",
        )


RULE = Rule(
    code="policy_off_home",
    levels=("warning", "info"),
    docs="The memory policy binds to or prefers nodes none of which is home; info where one is on the home's socket.",
    find=find,
    looks=True,
)
