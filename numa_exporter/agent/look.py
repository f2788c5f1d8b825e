"""Looks without an agent: report and snapshot read every source in order, a few times, and judge what that allows."""

import logging
import time
from concurrent.futures import wait
from functools import partial

from numa_exporter.agent.pipeline import Pipeline
from numa_exporter.agent.worker import Worker
from numa_exporter.model.report import Report

log = logging.getLogger("numa_exporter.look")


class Looker:
    """Takes looks at a host. A source that does not answer in time is stuck for this look, and the others go on."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._workers = {name: Worker(name) for name in pipeline.channels}

    def look(self) -> Report:
        """Read each source once, each seeing what those before it read."""
        pipeline = self._pipeline
        pipeline.begin_look()
        for name, worker in self._workers.items():
            deadline = pipeline.channels[name].source.deadline
            if pipeline.gave_up(name):
                continue
            if worker.busy:
                pipeline.stuck(name, deadline)
                continue
            sample = pipeline.sample(f"{name}.sample")
            future = worker.submit(partial(pipeline.read, name, sample))
            wait([future], timeout=deadline)
            if not future.done():
                pipeline.stuck(name, deadline)
            elif (error := future.exception()) is not None:
                # A defect of ours, or a bundle that somebody made up: the other sources are worth their report.
                log.error("source failed", extra={"source": name}, exc_info=error)
                pipeline.broken(name, error)
            else:
                pipeline.accept(name, future.result())
        return pipeline.report(pipeline.sample("report"))

    def looks(self, count: int, window: float) -> list[Report]:
        """``count`` looks spread over ``window`` seconds."""
        reports = [self.look()]
        for _ in range(count - 1):
            if self._pipeline.host.mode == "live":
                time.sleep(window / (count - 1))
            reports.append(self.look())
        return reports
