"""Readings to Report: the one place where source, join and judge meet. serve, report and snapshot all use it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numa_exporter
from numa_exporter.findings import judge
from numa_exporter.findings.intents import Intent
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.model.health import Failure, FailureWord, SourceHealth
from numa_exporter.model.placement import Ledger
from numa_exporter.model.report import Memory, Report
from numa_exporter.model.sample import HostFacts, Sample
from numa_exporter.model.thresholds import Settings
from numa_exporter.placement.join import join
from numa_exporter.sources.facts import host_facts
from numa_exporter.sources.host import Host, HostError
from numa_exporter.sources.source import Outcome, Reader, Source, failure_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An Outcome with its stamps: wall and monotonic seconds of its beginning, and how long it took."""

    outcome: Outcome[Any]
    wall: float
    monotonic: float
    duration: float


@dataclass(slots=True)
class Channel:
    """A source's reader and what came out of it last. Stamps: ``read_at`` wall, ``fresh_at`` monotonic seconds."""

    source: Source
    reader: Reader[Any]
    interval: float
    value: Any = None
    failure: Failure | None = None
    counts: dict[FailureWord, int] = field(default_factory=dict)
    read_at: float | None = None
    fresh_at: float | None = None
    started_at: float | None = None
    duration: float | None = None

    @property
    def max_age(self) -> float:
        """Seconds after which a value is dropped; of a source that is read less often, later."""
        return 3 * self.interval + self.source.deadline

    def health(self) -> SourceHealth:
        # A source that does not exist here has no gauge: nobody wants a page for a machine without resctrl.
        absent = self.failure is not None and self.failure.word == "absent" and self.value is None
        unread = self.fresh_at is None and self.failure is None
        return SourceHealth(
            name=self.source.name,
            up=None if absent or unread else self.failure is None,
            failure=self.failure,
            read_at=self.read_at,
            duration=self.duration,
            interval=self.interval,
            failures=dict(self.counts),
        )


class Pipeline:
    """Holds the channels, the ledger and the judging memory of one host, and makes Reports of them.

    ``read`` runs in the source's own thread, ``report`` in one of its own too, everything else in the caller's: no
    two threads share more than the Sample, which is a value.
    """

    def __init__(
        self,
        host: Host,
        sources: Sequence[Source],
        settings: Settings,
        step: Callable[[], object] | None = None,
        intents: tuple[Intent, ...] = (),
    ) -> None:
        """``step`` is called between looks: a replay advances to its next frame, a recorder begins one. ``intents``
        are deliberate exceptions."""
        self.host = host
        self.settings = settings
        self._step = step
        self._intents = intents
        self._looks = 0
        self.channels = {
            source.name: Channel(source=source, reader=source.make(settings), interval=source.interval)
            for source in sources
        }
        self._facts: HostFacts | None = None
        self._ledger = Ledger()
        self._memory = Memory()

    def begin_look(self) -> None:
        """To be called before each look."""
        if self._looks and self._step is not None:
            self._step()
        self._looks += 1

    def gave_up(self, name: str) -> bool:
        """Whether this look was recorded as one in which the source was stuck: then it is so again, unread."""
        error = self.host.gave_up(name)
        if error is not None:
            self._give_up(name, error)
        return error is not None

    def read(self, name: str, sample: Sample) -> Reading:
        """One reading, in the source's own thread. Never raises what a reader may raise."""
        channel = self.channels[name]
        began = self.host.now(f"{name}.begin")  # the readers have labels of their own
        outcome: Outcome[Any]
        try:
            outcome = channel.reader.read(self.host, sample)
        except (HostError, ParseError) as error:
            failure = failure_of(error)
            outcome = Outcome(value=None, failure=failure, counts={failure.word: 1})
        ended = self.host.now(f"{name}.end")
        duration = ended.monotonic - began.monotonic
        return Reading(outcome=outcome, wall=began.wall, monotonic=began.monotonic, duration=duration)

    def accept(self, name: str, reading: Reading) -> None:
        """Take a reading in. A failed one keeps the old value until that is too old."""
        outcome = reading.outcome
        channel = self.channels[name]
        channel.failure = outcome.failure
        channel.duration = reading.duration
        for word, count in outcome.counts.items():
            channel.counts[word] = channel.counts.get(word, 0) + count
        if outcome.value is not None:
            channel.value = outcome.value
            channel.read_at = reading.wall
            channel.fresh_at = reading.monotonic

    def stuck(self, name: str, seconds: float) -> None:
        """Note that a reading has not come back within its deadline."""
        self._give_up(name, self.host.give_up(name, f"no answer within {seconds:g} s"))

    def _give_up(self, name: str, error: HostError) -> None:
        channel = self.channels[name]
        if channel.failure is None or channel.failure.word != "stuck":
            channel.counts["stuck"] = channel.counts.get("stuck", 0) + 1
        channel.failure = error.failure()

    def broken(self, name: str, error: BaseException) -> None:
        """Note that our own code failed on a reading: nothing the host said, so ``garbled``."""
        channel = self.channels[name]
        channel.failure = Failure(word="garbled", path=name, detail=f"{type(error).__name__}: {error}")
        channel.counts["garbled"] = channel.counts.get("garbled", 0) + 1

    def sample(self, label: str = "sample") -> Sample:
        """Everything that was read and is not too old. ``label`` names the moment for a replay."""
        now = self.host.now(label)
        if self._facts is None:
            self._facts = host_facts(self.host)
        values: Mapping[str, Any] = {
            name: channel.value
            for name, channel in self.channels.items()
            if channel.fresh_at is not None and now.monotonic - channel.fresh_at <= channel.max_age
        }
        return Sample(
            host=self._facts,
            taken_at=now.wall,
            monotonic=now.monotonic,
            health={name: channel.health() for name, channel in self.channels.items()},
            **values,
        )

    def report(self, sample: Sample) -> Report:
        """Join and judge a sample, and remember for the next time."""
        placement = join(sample, self._ledger, self.settings)
        judged = judge(self._memory, placement, self.settings, self._intents)
        self._ledger = placement.ledger
        self._memory = judged.memory
        return Report(
            placement=placement,
            verdicts=judged.verdicts,
            findings=judged.findings,
            health=sample.health,
            memory=judged.memory,
            settings=self.settings,
            exporter=numa_exporter.__version__,
        )
