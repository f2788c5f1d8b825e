"""A read that may never return, in a thread of its own.

Reading numa_maps or maps waits for the target's mmap lock: a target stuck in the kernel takes its reader along. The
reader is left behind in a daemon thread (one per target at most: it is never asked again), the others go on.
"""

import threading
from collections.abc import Callable, Collection
from typing import Generic, TypeVar

from numa_exporter.model.ids import ProcessKey
from numa_exporter.sources.host import Host

T = TypeVar("T")


class Guard:
    """Runs reads of single processes, each within ``deadline`` seconds. One stuck read quarantines its process."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._quarantine: set[ProcessKey] = set()

    def run(self, host: Host, key: ProcessKey, path: str, read: Callable[[], T]) -> T:
        """What ``read`` returns or raises; HostError ``stuck`` past the deadline and for a quarantined process."""
        if self.quarantined(key):
            raise host.give_up(path, "a read of this process got stuck before: it is left alone")
        recorded = host.gave_up(path)
        if recorded is not None:
            raise recorded
        attempt = _Attempt(read)
        thread = threading.Thread(target=attempt.run, name=f"guard {path}", daemon=True)
        thread.start()
        thread.join(self._deadline)
        if thread.is_alive():
            self._quarantine.add(key)
            raise host.give_up(path, f"no answer within {self._deadline:g} s")
        return attempt.result()

    def quarantined(self, key: ProcessKey) -> bool:
        return key in self._quarantine

    def keep(self, keys: Collection[ProcessKey]) -> None:
        """Forget all processes but these."""
        self._quarantine.intersection_update(keys)


class _Attempt(Generic[T]):
    def __init__(self, read: Callable[[], T]) -> None:
        self._read = read
        self._value: list[T] = []
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._value.append(self._read())
        except BaseException as error:  # re-raised to the one who waits
            self._error = error

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._value[0]
