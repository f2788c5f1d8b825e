"""One reading of one process: its pages walked where that is cheap, else sampled, else withheld with the reason."""

from collections.abc import Collection
from typing import Literal

from numa_exporter.formats import proc_status
from numa_exporter.formats.proc_status import Status
from numa_exporter.model.ids import ProcessKey
from numa_exporter.model.processes import MappedMemory, Sampling
from numa_exporter.model.thresholds import GIB
from numa_exporter.sources import address_space
from numa_exporter.sources.host import Host, HostError, Instant
from numa_exporter.sources.page_sample import PageSample
from numa_exporter.sources.page_walk import PageSizes, PageWalk
from numa_exporter.sources.sampler.sampler import Sampler

WALK_SECONDS_PER_BYTE = 0.015 / GIB
"""Base pages, the worst case: 12.6 to 14.8 ms a GiB were measured."""
WALK_BUDGET_SECONDS = 0.060
"""4 GiB resident."""
SAMPLE_SECONDS = 0.006
"""Whatever the size."""


class MappedPages:
    """Reads processes by ``method``: auto, walk or sample. Keeps a sampler for each process that was sampled."""

    def __init__(self, method: str) -> None:
        self._method = method
        self._samplers: dict[ProcessKey, Sampler] = {}
        self.sampling: Sampling | None = None
        """Known after the first reading that could have used it."""

    def keep(self, keys: Collection[ProcessKey]) -> None:
        """Forget all processes but these."""
        self._samplers = {key: sampler for key, sampler in self._samplers.items() if key in keys}

    def try_means(self, host: Host) -> None:
        """Ask once whether move_pages may be called at all: container profiles refuse it whatever the capabilities,
        and then even on ourselves (facts.md, section 8)."""
        if self.sampling is None and self._method != "walk":
            try:
                host.page_nodes(0, (0,))
            except HostError as error:
                self.sampling = Sampling(means="none", obstacle=_obstacle(error))

    def read(self, host: Host, key: ProcessKey, sizes: PageSizes, now: Instant) -> MappedMemory:
        """Raises HostError and ParseError."""
        path = f"/proc/{key.pid}/status"
        status = proc_status.parse(host.read(path), path)
        if status.resident_bytes is None:
            raise HostError("gone", path, "no address space: the process is exiting")
        reason = reason_not_to_walk(self._method, status.resident_bytes)
        if reason is None:
            return self._walk(host, key, status, sizes, now)
        if self.sampling is not None and self.sampling.means == "none":
            policy = PageWalk(host, key.pid).policy(address_space.read(host, key.pid))
            blocked = f"{reason}; {self.sampling.obstacle}"
            return withheld(blocked, now, resident_bytes=_resident(status), policy=policy)
        return self._sample(host, key, status, sizes, now)

    def _walk(self, host: Host, key: ProcessKey, status: Status, sizes: PageSizes, now: Instant) -> MappedMemory:
        seen = PageWalk(host, key.pid).walk(status.resident_bytes or 0, sizes)
        return MappedMemory(
            method="walk",
            mapped=seen.numa_maps.by_backing,
            resident_bytes=_resident(status),
            segments=seen.numa_maps.by_segment,
            policy=seen.policy,
            policy_bytes={word: sum(nodes.values()) for word, nodes in seen.numa_maps.by_policy.items()},
            read_at=now.wall,
        )

    def _sample(self, host: Host, key: ProcessKey, status: Status, sizes: PageSizes, now: Instant) -> MappedMemory:
        space = address_space.read(host, key.pid)
        policy = PageWalk(host, key.pid).policy(space)
        sampler = self._samplers.setdefault(key, Sampler())
        sample = PageSample(host, key.pid, sizes.base)
        made = sample.look(sampler, space, status)
        self.sampling = sample.sampling
        if made.withheld is not None:
            return withheld(made.withheld, now, method="sample", resident_bytes=_resident(status), policy=policy)
        estimates = sample.estimates(made)
        return MappedMemory(
            method="sample",
            mapped={
                backing: {node: round(share * found.resident_bytes) for node, share in found.shares.items()}
                for backing, found in estimates.items()
            },
            resident_bytes=_resident(status),
            segments=sample.segments(made, space),
            estimates=estimates,
            policy=policy,
            read_at=now.wall,
        )


def reason_not_to_walk(method: str, resident_bytes: int) -> str | None:
    """Why a process is not walked in full; None if it is. A person may ask for the walk whatever it costs."""
    cost = walk_seconds(resident_bytes)
    if method == "sample":
        return "only sampling is allowed"
    if method == "walk" or cost <= WALK_BUDGET_SECONDS:
        return None
    return f"a walk would cost {_duration(cost)}, over the budget of {_duration(WALK_BUDGET_SECONDS)}"


def walk_seconds(resident_bytes: int) -> float:
    """Predicted cost of a walk, most of it in the target's mmap lock."""
    return resident_bytes * WALK_SECONDS_PER_BYTE


def withheld(
    reason: str,
    now: Instant,
    *,
    method: Literal["walk", "sample"] = "walk",
    resident_bytes: int | None = None,
    policy: str | None = None,
) -> MappedMemory:
    """A reading without shares."""
    return MappedMemory(
        method=method, mapped={}, resident_bytes=resident_bytes, policy=policy, withheld=reason, read_at=now.wall
    )


def _obstacle(error: HostError) -> str:
    if error.word == "denied":
        return "move_pages is refused even on ourselves (a seccomp profile?): pages cannot be sampled"
    return f"pages cannot be sampled: {error.detail}"


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


def _resident(status: Status) -> int:
    return (status.resident_bytes or 0) + (status.hugetlb_bytes or 0)
