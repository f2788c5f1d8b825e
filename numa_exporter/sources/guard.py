"""A read that may never return, in a thread of its own.

Reading numa_maps or maps waits for the target's mmap lock: a target stuck in the kernel takes its reader along. The
reader is left behind in a daemon thread (one per target at most: it is never asked again), the others go on. One
thread serves until it is left behind: to start one for each of a hundred processes costs 10 ms.
"""

import threading
import weakref
from collections.abc import Callable, Collection
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

from numa_exporter.model.ids import ProcessKey
from numa_exporter.sources.host import Host

T = TypeVar("T")


class Guard:
    """Runs reads of single processes, each within ``deadline`` seconds. One stuck read quarantines its process."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._quarantine: set[ProcessKey] = set()
        self._reader: _Reader | None = None

    def run(self, host: Host, key: ProcessKey, path: str, read: Callable[[], T]) -> T:
        """What ``read`` returns or raises; HostError ``stuck`` past the deadline and for a quarantined process."""
        if self.quarantined(key):
            raise host.give_up(path, "a read of this process got stuck before: it is left alone")
        recorded = host.gave_up(path)
        if recorded is not None:
            raise recorded
        if self._reader is None:
            self._reader = _Reader()
        try:
            return self._reader.submit(read).result(self._deadline)
        except TimeoutError:
            self._reader = None
            self._quarantine.add(key)
            raise host.give_up(path, f"no answer within {self._deadline:g} s") from None

    def quarantined(self, key: ProcessKey) -> bool:
        return key in self._quarantine

    def keep(self, keys: Collection[ProcessKey]) -> None:
        """Forget all processes but these."""
        self._quarantine.intersection_update(keys)


class _Reader:
    """A daemon thread that reads what it is given, and ends when nobody can give it anything any more."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        threading.Thread(target=_serve, args=(self._queue,), name="guarded reader", daemon=True).start()
        weakref.finalize(self, self._queue.put, None)

    def submit(self, read: Callable[[], T]) -> "Future[T]":
        future: Future[T] = Future()
        self._queue.put((future, read))
        return future


def _serve(queue: "SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]") -> None:
    while (task := queue.get()) is not None:
        future, read = task
        try:
            future.set_result(read())
        except BaseException as error:  # raised again to the one who waits
            future.set_exception(error)
        del task, future, read  # a waiting thread must not keep the last reading alive
