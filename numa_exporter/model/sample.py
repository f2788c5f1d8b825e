"""Sample: everything the host said, at one moment. Impure to obtain, pure to hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from numa_exporter.model.gpus import Gpus
from numa_exporter.model.health import SourceHealth
from numa_exporter.model.kubelet import Kubelet
from numa_exporter.model.machine import Devices, Topology, Traffic
from numa_exporter.model.names import Names
from numa_exporter.model.processes import Cgroups, Memory, Processes, Threads

Mode = Literal["live", "replay", "simulated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """Which machine, which boot, which kernel, and how it is looked at."""

    nodename: str
    mode: Mode
    boot_id: str | None = None
    kernel: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The newest value of each source that is not too old; None = off, failed or too old.

    ``taken_at`` is wall-clock seconds, ``monotonic`` the same moment on the clock that never jumps.
    """

    host: HostFacts
    taken_at: float
    monotonic: float
    topology: Topology | None = None
    gpus: Gpus | None = None
    processes: Processes | None = None
    threads: Threads | None = None
    cgroups: Cgroups | None = None
    memory: Memory | None = None
    kubelet: Kubelet | None = None
    names: Names | None = None
    devices: Devices | None = None
    traffic: Traffic | None = None
    health: Mapping[str, SourceHealth] = field(default_factory=dict)
