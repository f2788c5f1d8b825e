"""Report: placement, findings, source health and the memory that the next judgement starts from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from numa_exporter.model.health import SourceHealth
from numa_exporter.model.ids import Dimension, RankKey, WorkloadKey
from numa_exporter.model.placement import Placement
from numa_exporter.model.thresholds import Settings

Level = Literal["warning", "info"]
Confidence = Literal["high", "low"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a finding is about; the fields that do not apply are None."""

    workload: WorkloadKey | None = None
    uuid: str | None = None
    numa_node: int | None = None
    device: str | None = None

    @property
    def rank(self) -> RankKey | None:
        return RankKey(workload=self.workload, uuid=self.uuid) if self.workload else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A raw line with the logical path it was read from."""

    path: str
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """A deliberate exception: why, and its last day (RFC 3339 full-date, UTC); None = for ever."""

    reason: str
    until: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One judged fact. ``value`` and ``limit`` are in base units, ``since`` is wall-clock seconds.

    ``remedy`` is what to type: commands, YAML, a drop-in, each a block of its own, the best first, an empty line
    between two; a comment in a block says where it belongs. ``remedy_note``: what that needs and may bring, by line.
    ``suppressed``: the intent that covers it; a suppressed finding is shown, never dropped.
    """

    code: str
    level: Level
    subject: Subject
    sentence: str
    value: float | None = None
    limit: float | None = None
    window_seconds: float | None = None
    since: float | None = None
    confidence: Confidence = "high"
    evidence: tuple[Evidence, ...] = ()
    remedy: str | None = None
    remedy_note: str | None = None
    suppressed: Suppression | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict on one judged dimension of one rank: misaligned or not, or why it is not judged."""

    misaligned: bool | None
    not_judged: str | None = None
    since: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Streak:
    """A condition that has held for ``count`` consecutive evaluations, since wall-clock ``since`` (monotonic
    ``began``), last seen at monotonic ``seen``. ``active``: long enough that it was reported."""

    count: int
    since: float
    began: float
    seen: float
    active: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady:
    """GPU memory of a rank has stayed near ``gpu_bytes`` since monotonic ``since``."""

    gpu_bytes: int
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Counters at one evaluation, for rates over the window: numa_foreign by node (allocation events), bytes received
    over PCIe by GPU. ``monotonic`` seconds."""

    monotonic: float
    foreign: Mapping[int, int] = field(default_factory=dict)
    received: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What judging remembers between evaluations. Part of the Report and of bundles.

    ``streaks`` by (code or dimension, subject). ``looks`` are the evaluations of the last five minutes, oldest first.
    CPU time by rank is not here: the ledger of the placement keeps it.
    """

    streaks: Mapping[tuple[str, Subject], Streak] = field(default_factory=dict)
    steady: Mapping[RankKey, Steady] = field(default_factory=dict)
    looks: tuple[Look, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What one evaluation yields: the memory for the next, the verdicts by rank and dimension, the findings."""

    memory: Memory
    verdicts: Mapping[RankKey, Mapping[Dimension, Verdict]]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The one value that metrics, page, report, snapshot, verify and gate read."""

    placement: Placement
    verdicts: Mapping[RankKey, Mapping[Dimension, Verdict]]
    findings: tuple[Finding, ...]
    health: Mapping[str, SourceHealth]
    memory: Memory
    settings: Settings
    exporter: str
