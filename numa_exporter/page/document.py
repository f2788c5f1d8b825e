"""The report document (schema numa-exporter/report/1) as typed values. Unknown is None or empty, decided here once."""

from collections.abc import Mapping
from dataclasses import dataclass

from numa_exporter.page import fields
from numa_exporter.page.fields import Record
from numa_exporter.page.hardware import Machine

WINDOW_SECONDS = 300.0  # CPU time is judged over 5 min unless the rank says otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """Placement of one rank: seconds and bytes by node; verdicts by dimension."""

    uuid: str
    gpus: tuple[str, ...]
    home: tuple[int, ...]
    cpu_seconds: Mapping[int, float]
    window_seconds: float
    mapped: Mapping[str, Mapping[int, float]]
    misalignment: Mapping[str, float]
    misaligned: frozenset[str]
    not_judged: Mapping[str, str]
    unjudged: str | None
    """Why no verdict may be given, whatever the figures."""
    low_confidence: str | None
    """Why a verdict is to be doubted."""

    @classmethod
    def read(cls, record: Record) -> "Rank":
        mapped = fields.record(record, "mapped")
        verdicts = fields.record(record, "misaligned")
        reasons = fields.record(record, "not_judged")
        uuid = fields.text(record, "uuid") or ""
        return cls(
            uuid=uuid,
            gpus=fields.texts(record, "gpus") or ((uuid,) if uuid else ()),
            home=tuple(sorted(fields.integers(record, "home"))),
            cpu_seconds=fields.by_node(record, "cpu_seconds"),
            window_seconds=fields.number(record, "cpu_window_seconds") or WINDOW_SECONDS,
            mapped={backing: fields.by_node(mapped, backing) for backing in mapped},
            misalignment=fields.numbers(record, "misalignment"),
            misaligned=frozenset(name for name in verdicts if fields.flag(verdicts, name)),
            not_judged={name: why for name in reasons if (why := fields.text(reasons, name))},
            unjudged=fields.text(record, "unjudged"),
            low_confidence=fields.text(record, "low_confidence"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Helper:
    """A process of the workload that holds no GPU."""

    pid: int | None
    comm: str
    cpu_seconds: Mapping[int, float]

    @classmethod
    def read(cls, record: Record) -> "Helper":
        return cls(
            pid=fields.integer(record, "pid"),
            comm=fields.text(record, "comm") or "a process",
            cpu_seconds=fields.by_node(record, "cpu_seconds"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A container or host unit with its ranks. A host workload has only `unit`."""

    namespace: str | None
    pod: str | None
    container: str | None
    unit: str | None
    cpuset_cpus: str | None
    ranks: tuple[Rank, ...]
    helpers: tuple[Helper, ...]

    @classmethod
    def read(cls, record: Record) -> "Workload":
        return cls(
            namespace=fields.text(record, "namespace"),
            pod=fields.text(record, "pod"),
            container=fields.text(record, "container"),
            unit=fields.text(record, "unit"),
            cpuset_cpus=fields.text(record, "cpuset_cpus"),
            ranks=tuple(Rank.read(rank) for rank in fields.records(record, "ranks")),
            helpers=tuple(Helper.read(helper) for helper in fields.records(record, "helpers")),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """A deliberate exception: why, and until when."""

    reason: str | None
    until: str | None

    @classmethod
    def read(cls, finding: Record) -> "Suppression | None":
        record = fields.record(finding, "suppressed")
        return cls(reason=fields.text(record, "reason"), until=fields.text(record, "until")) if record else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One judged fact, its sentence as the agent wrote it."""

    code: str
    warning: bool
    subject: Record
    sentence: str
    value: float | None
    limit: float | None
    window_seconds: float | None
    since: str | None
    confidence: str | None
    evidence: tuple[tuple[str, str], ...]
    remedy: str | None
    remedy_note: str | None
    suppressed: Suppression | None

    @classmethod
    def read(cls, record: Record) -> "Finding":
        lines = fields.records(record, "evidence")
        return cls(
            code=fields.text(record, "code") or "finding",
            warning=fields.text(record, "level") == "warning",
            subject=fields.record(record, "subject"),
            sentence=fields.text(record, "sentence") or "",
            value=fields.number(record, "value"),
            limit=fields.number(record, "limit"),
            window_seconds=fields.number(record, "window_seconds"),
            since=fields.text(record, "since"),
            confidence=fields.text(record, "confidence"),
            evidence=tuple((fields.text(x, "path") or "", fields.text(x, "line") or "") for x in lines),
            remedy=fields.text(record, "remedy"),
            remedy_note=fields.text(record, "remedy_note"),
            suppressed=Suppression.read(record),
        )

    @property
    def forms(self) -> tuple[str, ...]:
        """What to type: commands or YAML, the best first."""
        return tuple(form for form in (self.remedy or "").split("\n\n") if form)

    @property
    def needs(self) -> tuple[str, ...]:
        """What that needs and may bring, sentence by sentence."""
        return tuple(line for line in (self.remedy_note or "").split("\n") if line)

    @property
    def live_warning(self) -> bool:
        return self.warning and self.suppressed is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One source's health: up, down (False), or absent or switched off (None). Times in seconds."""

    name: str
    up: bool | None
    failure: str | None
    duration_seconds: float | None
    age_seconds: float | None

    @classmethod
    def read(cls, name: str, record: Record) -> "Source":
        return cls(
            name=name,
            up=fields.flag(record, "up"),
            failure=fields.text(record, "failure"),
            duration_seconds=fields.number(record, "duration_seconds"),
            age_seconds=fields.number(record, "age_seconds"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The whole report, as far as the page shows it. ``holders_known``: whether anybody could see who holds a GPU."""

    taken_at: str | None
    mode: str | None
    nodename: str
    kernel: str | None
    machine: Machine
    observers: tuple[str, ...]
    workloads: tuple[Workload, ...]
    findings: tuple[Finding, ...]
    sources: tuple[Source, ...]
    thresholds: Mapping[str, float]
    holders_known: bool

    @classmethod
    def read(cls, document: Record) -> "Document":
        host = fields.record(document, "host")
        sources = fields.record(document, "sources")
        comms = (fields.text(observer, "comm") for observer in fields.records(document, "observers"))
        return cls(
            taken_at=fields.text(document, "taken_at"),
            mode=fields.text(document, "mode"),
            nodename=fields.text(host, "nodename") or "this machine",
            kernel=fields.text(host, "kernel"),
            machine=Machine.read(document),
            observers=tuple(dict.fromkeys(comm for comm in comms if comm is not None)),
            workloads=tuple(Workload.read(workload) for workload in fields.records(document, "workloads")),
            findings=tuple(Finding.read(finding) for finding in fields.records(document, "findings")),
            sources=tuple(Source.read(name, fields.record(sources, name)) for name in sources),
            thresholds=fields.numbers(document, "thresholds"),
            holders_known=fields.record(document, "attribution").get("attributed", 0) is not None,
        )

    def is_down(self, *names: str) -> bool:
        """Whether one of these sources is known to fail."""
        return any(source.name in names and source.up is False for source in self.sources)
