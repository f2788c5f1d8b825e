"""What a source is: a name, a rhythm, and a reader that turns doors into one part of the Sample."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from numa_exporter.formats.parse_error import ParseError
from numa_exporter.model.health import Failure, FailureWord
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import Settings
from numa_exporter.sources.host import Host, HostError

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(Generic[T]):
    """One reading. ``failure`` means that the source as a whole did badly (its gauge goes to 0) even where part of
    the value could be read; ``counts`` are single failures by word, such as one process that went away."""

    value: T | None
    failure: Failure | None = None
    counts: Mapping[FailureWord, int] = field(default_factory=dict)


class Reader(Protocol[T]):
    """Reads one part of the Sample; may keep what it needs between looks. Runs in one thread at a time.

    ``sample`` holds what the other sources read before; a reader needs the earlier ones in the table only.
    HostError and ParseError may escape: they make the whole reading fail with their word.
    """

    def read(self, host: Host, sample: Sample) -> Outcome[T]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One row of the table SOURCES: ``name`` is the field of the Sample and the flag ``--source.NAME``.

    Intervals and deadlines in seconds. In a tick a source starts when those it ``needs`` have answered, are past their
    deadline, or keep the tick waiting too long. ``costly`` ones are stretched when the agent is over its CPU budget,
    those that hold workloads' mmap ``locks`` when it is over its budget of those.
    """

    name: str
    interval: float
    deadline: float
    make: Callable[[Settings], Reader[Any]]
    reads: str
    needs: tuple[str, ...] = ()
    costly: bool = False
    locks: bool = False


class Failures:
    """Counts single failures of a reading and remembers the first of each word."""

    def __init__(self) -> None:
        self.counts: dict[FailureWord, int] = {}
        self.first: dict[FailureWord, Failure] = {}

    def add(self, error: HostError | ParseError) -> None:
        failure = failure_of(error)
        self.counts[failure.word] = self.counts.get(failure.word, 0) + 1
        self.first.setdefault(failure.word, failure)

    def worst(self, *words: FailureWord) -> Failure | None:
        """The first failure of the earliest of these words that occurred."""
        return next((self.first[word] for word in words if word in self.first), None)


def failure_of(error: HostError | ParseError) -> Failure:
    """The failure word of an exception that a reader may raise; a ParseError is ``garbled``."""
    if isinstance(error, HostError):
        return error.failure()
    return Failure(word="garbled", path=error.path, detail=str(error))
