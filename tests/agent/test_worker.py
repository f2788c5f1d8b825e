"""The daemon thread: one thing at a time, errors handed over, no exit held up."""

import subprocess
import sys
import threading

import pytest

from numa_exporter.agent.worker import Worker


def test_results_and_errors_arrive_in_the_future() -> None:
    worker = Worker("test")
    assert worker.submit(lambda: 42).result(timeout=5) == 42
    with pytest.raises(ZeroDivisionError):
        worker.submit(lambda: 1 / 0).result(timeout=5)
    assert worker.submit(lambda: "still alive").result(timeout=5) == "still alive"


def test_who_waits_may_go_away() -> None:
    worker = Worker("test")
    began, release = threading.Event(), threading.Event()
    running = worker.submit(lambda: (began.set(), release.wait(5)))
    never = worker.submit(lambda: pytest.fail("called for nobody"))
    assert began.wait(5)
    running.cancel()
    never.cancel()
    release.set()
    assert worker.submit(lambda: "still alive").result(timeout=5) == "still alive"
    assert never.cancelled()


def test_busy_until_the_call_returns() -> None:
    worker = Worker("test")
    release = threading.Event()
    future = worker.submit(lambda: release.wait(5))
    assert worker.busy
    release.set()
    assert future.result(timeout=5)
    assert not worker.busy


def test_a_call_that_never_returns_does_not_hold_up_the_exit() -> None:
    program = """
import threading
from numa_exporter.agent.worker import Worker
Worker("stuck").submit(threading.Event().wait)
print("leaving")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=30, check=True)
    assert done.stdout == b"leaving\n"
