"""The agent's own loop, tick by tick, with what each part costs: run by benchmarks in a process of its own.

    python -m tests.bench.ticks COUNT SECONDS FLAG…

COUNT ticks; the agent's clock goes SECONDS ahead from one to the next, whatever time they take. The flags are those of
`serve`. Prints one JSON line each: CPU milliseconds of every source's thread, of join and judge, of rendering, of the
whole process, then of the page and the JSON document, for which somebody asks after each tick; resident bytes. Its web
server listens meanwhile, on the port that the first line names.
"""

import asyncio
import json
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from numa_exporter.agent import logs, web
from numa_exporter.agent.loop import Loop
from numa_exporter.agent.pipeline import Pipeline
from numa_exporter.agent.web_config import WebConfig
from numa_exporter.cli import flags, interpreter, serve
from numa_exporter.cli.main import parser
from numa_exporter.model.report import Report
from numa_exporter.model.sample import Sample
from numa_exporter.sources.host import Instant
from numa_exporter.sources.live import LiveHost
from numa_exporter.sources.nvml import Nvml
from numa_exporter.sources.roots import Roots

PAUSE = 0.15


class HurriedHost(LiveHost):
    """This machine by a clock that can be put forward."""

    ahead = 0.0

    def now(self, label: str) -> Instant:
        now = super().now(label)
        return Instant(wall=now.wall + self.ahead, monotonic=now.monotonic + self.ahead)


class TimedPipeline(Pipeline):
    """Notes the CPU seconds of join and judge."""

    judged = 0.0

    def report(self, sample: Sample) -> Report:
        began = time.thread_time()
        made = super().report(sample)
        self.judged = time.thread_time() - began
        return made


def main() -> None:
    count, seconds, *given = sys.argv[1:]
    interpreter.settle()
    args = parser().parse_args(["serve", *given])
    logs.start(args.log_level, args.log_format)
    host = HurriedHost(Roots(), Nvml())
    pipeline = TimedPipeline(host, flags.sources(args), flags.settings(args, {}))
    asyncio.run(_run(serve.agent(args, pipeline), pipeline, host, int(count), float(seconds)))


async def _run(loop: Loop, pipeline: TimedPipeline, host: HurriedHost, count: int, seconds: float) -> None:
    _, port = await web.start(loop, "127.0.0.1", 0, WebConfig())
    print(port, flush=True)
    for _ in range(count):
        before, whole = _threads(), time.process_time()
        await loop.tick()
        after, spent = _threads(), time.process_time() - whole
        parts = {name: used - before.get(name, 0.0) for name, used in after.items()}
        rendering = parts.pop("render", 0.0) - pipeline.judged
        await loop.shown()
        asked = _threads()["render"] - after["render"]
        told = {**parts, "join and judge": pipeline.judged, "rendering": rendering, "asked": asked, "tick": spent}
        print(json.dumps({**{name: 1000 * used for name, used in told.items()}, "resident": _resident()}), flush=True)
        await asyncio.sleep(PAUSE)
        host.ahead += seconds - PAUSE


def _threads() -> Mapping[str, float]:
    """CPU seconds of each thread so far (schedstat: run time in ns)."""
    spent: dict[str, float] = {}
    for thread in threading.enumerate():
        name = thread.name.removeprefix("source-")
        spent[name] = spent.get(name, 0.0) + int(_own(f"task/{thread.native_id}/schedstat").split()[0]) / 1e9
    return spent


def _resident() -> int:
    return int(_own("statm").split()[1]) * 4096


def _own(name: str) -> str:
    return Path("/proc/self", name).read_text()


if __name__ == "__main__":
    main()
