"""A simulated process: what it may, does and has at any moment. Everything is a function of time."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

LOADING = 150.0
"""Seconds in which a rank reads its model: host and GPU memory grow, then stand."""
BUSY_THREADS = 10
WAVE_SECONDS = 900.0
WAVE = 0.25
"""Traffic comes and goes: CPU use swings by this share around its mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A process. ``home`` is its GPU's node (None: it holds none), ``near`` another one of that socket and ``far`` the
    one across; ``allowed`` the CPUs of its threads' masks, ``nodes`` where they run.

    ``cores`` is what it keeps busy on average, ``private`` and ``pinned`` bytes are what it allocates once loaded.
    """

    pid: int
    parent: int
    comm: str
    started: float
    cgroup: str
    allowed: tuple[int, ...]
    nodes: tuple[int, ...]
    threads: int = 1
    cores: float = 0.0
    gpu: int | None = None
    home: int | None = None
    near: int | None = None
    far: int | None = None
    gpu_memory: int = 0
    private: int = 0
    pinned: int = 0
    socket_memory: float = 0.0
    remote_memory: float = 0.0
    remote_cpu: float = 0.0
    policy: str = "default"
    opened: tuple[str, ...] = ()
    phase: float = 0.0

    @property
    def busy(self) -> int:
        return min(self.threads, BUSY_THREADS)

    @property
    def pages(self) -> Mapping[int, float]:
        """Which share of its pages lies on which node."""
        if self.home is None:
            return dict.fromkeys(self.nodes, 1 / len(self.nodes))
        found = {self.home: 1.0}
        for node, share in ((self.near, self.socket_memory), (self.far, self.remote_memory)):
            if node is not None and node != self.home and share:
                found[self.home] -= share
                found[node] = share
        return found

    def node_of_thread(self, number: int) -> int:
        """The node that a thread runs on. Busy threads come first; the last of those are the remote ones."""
        if self.home is None:
            return self.nodes[number % len(self.nodes)]
        local = self.busy - round(self.remote_cpu * self.busy)
        return self.nodes[0] if number < local else self.nodes[-1]

    def thread_seconds(self, number: int, now: float) -> float:
        """CPU seconds of a thread so far."""
        age = now - self.started
        if number >= self.busy:
            return min(0.05, 0.001 * max(0.0, age))
        return self.cores / self.busy * _waves(age, self.phase)

    def seconds(self, now: float) -> float:
        return sum(self.thread_seconds(number, now) for number in range(self.threads))

    def loaded(self, now: float) -> float:
        """The share of its memory that it has by now."""
        return min(1.0, max(0.02, (now - self.started) / LOADING))


def _waves(age: float, phase: float) -> float:
    """The integral of 1 + WAVE sin(...) over an age: mean seconds of a load that swings. Never falls."""
    turn = 2 * math.pi / WAVE_SECONDS
    return max(0.0, age) + WAVE / turn * (math.cos(phase) - math.cos(turn * max(0.0, age) + phase))
