"""Memory that somebody interleaved on purpose: half of it is remote because that was asked for.

A pool with a policy of its own (mbind) shows only where pages were walked; a policy of the whole process always.
"""

from numa_exporter.findings.policies import INTERLEAVING, policy_of
from numa_exporter.formats.mempolicy import Policy
from numa_exporter.model.ids import Dimension
from numa_exporter.model.placement import Rank


def interleaving(rank: Rank) -> Policy | None:
    """The policy of the whole process, if it interleaves."""
    policy = policy_of(rank.policy)
    return policy if policy and policy.mode in INTERLEAVING else None


def reaches_out(rank: Rank, policy: Policy) -> bool:
    """Whether a policy names a node of another socket; one within home's socket explains nothing that is remote."""
    return any(rank.mapped_locality.get(node) == "remote" for node in policy.nodes)


def explains(rank: Rank, dimension: Dimension, limit: float, floor: float) -> bool:
    """Whether what is left without the interleaved bytes is within the limits."""
    if dimension == "cpu_time":
        return False
    policy = interleaving(rank)
    if policy is not None and reaches_out(rank, policy):
        return True
    pooled, remote = _pooled(rank)
    considered = max(0.0, rank.considered[dimension] - pooled)
    left = max(0.0, rank.remote[dimension] - remote)
    return pooled > 0 and (left < floor or left < limit * considered)


def _pooled(rank: Rank) -> tuple[float, float]:
    """Bytes under an interleave policy, and how many of them that puts on another socket."""
    pooled = remote = 0.0
    for word, count in (rank.policy_bytes or {}).items():
        policy = policy_of(word)
        if policy is None or policy.mode not in INTERLEAVING or not policy.nodes:
            continue
        far = sum(rank.mapped_locality.get(node) == "remote" for node in policy.nodes)
        pooled += count
        remote += count * far / len(policy.nodes)
    return pooled, remote
