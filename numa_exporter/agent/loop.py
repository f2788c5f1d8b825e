"""The loop: read what is due, join, judge, render, publish. Intervals skip, never queue."""

import asyncio
import logging
from collections import Counter
from functools import partial

from numa_exporter.agent.governor import Governor
from numa_exporter.agent.pipeline import Channel, Pipeline, Reading
from numa_exporter.agent.publish import Published, Shown, publish, show
from numa_exporter.agent.transitions import Transitions
from numa_exporter.agent.worker import Worker
from numa_exporter.model.health import AgentStats
from numa_exporter.model.report import Report
from numa_exporter.model.sample import Sample

log = logging.getLogger("numa_exporter.loop")

PATIENCE = 0.8
"""Share of the interval for which a tick waits for its sources; an answer that comes later is the next tick's. A loop
that waited out a deadline of 60 s would look dead to its probe."""

OPEN_METRICS_TICKS = 20
"""For how many ticks OpenMetrics is rendered after somebody asked for it."""


class Loop:
    """Owns the ticks. ``published`` is replaced whole by each tick and read by the web without a lock."""

    def __init__(
        self, pipeline: Pipeline, governor: Governor, *, interval: float, page: bool, max_series: int | None
    ) -> None:
        self.published: Published | None = None
        self.turned_at: float | None = None
        self.interval = interval
        self._pipeline = pipeline
        self._governor = governor
        self._page = page
        self._max_series = max_series
        self._transitions = Transitions()
        self._workers = {name: Worker(f"source-{name}") for name in pipeline.channels}
        self._readings: dict[str, tuple[float, asyncio.Future[Reading]]] = {}
        self._render = Worker("render")
        self._shown: asyncio.Future[Shown] | None = None
        self._open_metrics_ticks = 0
        self._ticks = 0
        self._skipped = 0
        self._dropped: Counter[str] = Counter()

    @property
    def healthy(self) -> bool:
        """Whether the loop turned within 3 intervals, whatever the sources do."""
        now = asyncio.get_running_loop().time()
        return self.turned_at is not None and now - self.turned_at <= 3 * self.interval

    def open_metrics_asked(self) -> None:
        """Note that a scraper negotiated OpenMetrics: the next ticks render it."""
        self._open_metrics_ticks = OPEN_METRICS_TICKS

    async def shown(self) -> Shown | None:
        """The page and the JSON document of what is published, rendered at the first asking for all who ask; None
        where nothing is published."""
        if self.published is None:
            return None
        if self._shown is None:
            rendering = self._render.submit(partial(show, self.published.report, with_page=self._page))
            self._shown = asyncio.wrap_future(rendering)
        # One who goes away must not take it from the others.
        return await asyncio.shield(self._shown)

    async def run(self, stop: asyncio.Event) -> None:
        """Tick until stopped. A tick that runs over makes the next ones skip."""
        loop = asyncio.get_running_loop()
        self.turned_at = due = loop.time()
        while not stop.is_set():
            try:
                await self.tick()
                self.turned_at = loop.time()
            except Exception:
                # A defect of ours. What was published stands, with its old stamp; a probe sees that nothing turns.
                log.exception("tick failed")
            due += self.interval
            while due <= loop.time():
                due += self.interval
                self._skipped += 1
            waiter = asyncio.create_task(stop.wait())
            await asyncio.wait({waiter}, timeout=due - loop.time())
            waiter.cancel()

    async def tick(self) -> None:
        """One turn: every due source, then one report."""
        self._pipeline.begin_look()
        until = asyncio.get_running_loop().time() + PATIENCE * self.interval
        reading = {name: asyncio.Event() for name in self._pipeline.channels}
        async with asyncio.TaskGroup() as group:
            for name in self._pipeline.channels:
                group.create_task(self._read(name, reading, until))
        sample = self._pipeline.sample("report")
        published = await asyncio.wrap_future(self._render.submit(partial(self._make, sample)))
        self._dropped.update(published.dropped)
        self.published, self._shown = published, None
        self._ticks += 1
        self._transitions.note(published.report)

    async def _read(self, name: str, done: dict[str, asyncio.Event], until: float) -> None:
        """Read one source if it is due, after those it needs; set its event whatever comes of it."""
        try:
            for need in self._pipeline.channels[name].source.needs:
                await done[need].wait()
            if self._workers[name].busy or self._start(name):
                await self._answer(name, until)
        finally:
            done[name].set()

    def _start(self, name: str) -> bool:
        """Whether a reading began now."""
        channel = self._pipeline.channels[name]
        if self._pipeline.gave_up(name):
            return False
        sample = self._pipeline.sample(f"{name}.sample")
        if not self._due(channel, sample.monotonic):
            return False
        channel.started_at = sample.monotonic
        future = asyncio.wrap_future(self._workers[name].submit(partial(self._pipeline.read, name, sample)))
        # Late answers are taken in when they come; wait() does not abandon the thread as wait_for() would.
        future.add_done_callback(lambda late: None if late.cancelled() else self._take(name, late))
        self._readings[name] = asyncio.get_running_loop().time(), future
        return True

    async def _answer(self, name: str, until: float) -> None:
        """Wait for the reading in flight, though not for ever; past its deadline it is stuck."""
        began, future = self._readings[name]
        deadline = self._pipeline.channels[name].source.deadline
        now = asyncio.get_running_loop().time()
        await asyncio.wait({future}, timeout=max(0.0, min(began + deadline, until) - now))
        if not future.done() and asyncio.get_running_loop().time() >= began + deadline:
            self._pipeline.stuck(name, deadline)

    def _due(self, channel: Channel, monotonic: float) -> bool:
        # A replay has its own time: every frame is read whole. A tick may come a little early.
        if self._pipeline.host.mode != "live" or channel.started_at is None:
            return True
        return monotonic - channel.started_at >= channel.interval - 0.1 * self.interval

    def _take(self, name: str, future: "asyncio.Future[Reading]") -> None:
        error = future.exception()
        if error is not None:
            # A defect of ours, not a word of the host: say it with its trace, and let the other sources live.
            log.error("source failed", extra={"source": name}, exc_info=error)
            self._pipeline.broken(name, error)
            return
        self._pipeline.accept(name, future.result())

    def _make(self, sample: Sample) -> Published:
        report = self._pipeline.report(sample)
        self._open_metrics_ticks = max(0, self._open_metrics_ticks - 1)
        return publish(
            report,
            self._stats(report),
            with_open_metrics=self._open_metrics_ticks > 0,
            max_series=self._max_series,
        )

    def _stats(self, report: Report) -> AgentStats:
        lock_hold_seconds = getattr(self._pipeline.host, "lock_hold_seconds", None)
        stretch = self._governor.observe(report.placement.monotonic, lock_hold_seconds)
        for channel in self._pipeline.channels.values():
            channel.interval = channel.source.interval * stretch.of(channel.source)
        return AgentStats(
            ticks=self._ticks + 1,
            ticks_skipped=self._skipped,
            last_tick=report.placement.taken_at,
            lock_hold_seconds=lock_hold_seconds,
            series_dropped=dict(self._dropped),
            cost=self._governor.cost(),
        )
