"""A daemon thread that does one thing at a time.

Not an executor: concurrent.futures joins its threads at exit, so one blocked read would outlive SIGTERM.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class Worker:
    """Runs calls one after the other. ``busy`` while one is running or waiting: then do not submit another."""

    def __init__(self, name: str) -> None:
        self._queue: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._in_flight: Future[Any] | None = None
        threading.Thread(target=self._run, name=name, daemon=True).start()

    @property
    def busy(self) -> bool:
        return self._in_flight is not None and not self._in_flight.done()

    def submit(self, call: Callable[[], T]) -> "Future[T]":
        """Start a call; its result or exception arrives in the future."""
        future: Future[T] = Future()
        self._in_flight = future
        self._queue.put((future, call))
        return future

    def _run(self) -> None:
        while True:
            future, call = self._queue.get()
            if not future.set_running_or_notify_cancel():
                continue  # nobody waits any more; from here on nobody can take the future away below us
            try:
                result = call()
            except BaseException as error:
                # Handed to whoever waits; a thread that dies would leave its source silent for ever.
                future.set_exception(error)
            else:
                future.set_result(result)
            del future, call  # a waiting thread must not keep the last reading alive
