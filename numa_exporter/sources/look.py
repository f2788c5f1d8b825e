"""One look at a host, made of parts that fail alone."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from numa_exporter.formats.parse_error import ParseError
from numa_exporter.model.health import Failure
from numa_exporter.model.recording import Json
from numa_exporter.sources.host import Host, HostError
from numa_exporter.sources.source import Failures

T = TypeVar("T")


class Look:
    """Opens a host's doors and keeps what went wrong. Every method answers None (or nothing) instead of raising:
    for ``absent`` that is all, for the other words the failure is counted as well."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.failures = Failures()

    def file(self, path: str, parse: Callable[[bytes, str], T]) -> T | None:
        """The parsed file; ``parse`` takes its bytes and its path, as every parser of formats/ does."""
        return self.attempt(lambda: parse(self.host.read(path), path))

    def names(self, path: str) -> Sequence[str]:
        """The names in a directory; none where there is no such directory."""
        return self.attempt(lambda: self.host.list(path)) or ()

    def real(self, path: str) -> str | None:
        """The logical path behind all links."""
        return self.attempt(lambda: self.host.realpath(path))

    def nvml(self, function: str, *arguments: int) -> Json:
        """NVML's answer; see nvml_questions.py."""
        return self.attempt(lambda: self.host.nvml(function, *arguments))

    def attempt(self, question: Callable[[], T]) -> T | None:
        """Any question that may raise HostError or ParseError."""
        try:
            return question()
        except HostError as error:
            if error.word != "absent":
                self.failures.add(error)
        except ParseError as error:
            self.failures.add(error)
        return None

    @property
    def failure(self) -> Failure | None:
        """The failure to show for the look as a whole."""
        return self.failures.worst("garbled", "denied", "gone", "stuck")
