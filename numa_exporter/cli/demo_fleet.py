"""demo --fleet N: a thousand machines for one Prometheus; every tenth runs the scenario, the others are aligned."""

import argparse
import asyncio
import os
import signal
import time
from dataclasses import dataclass

from numa_exporter import __version__
from numa_exporter.agent import fleet as served
from numa_exporter.agent.look import Looker
from numa_exporter.cli import flags, serve
from numa_exporter.cli.errors import UsageError
from numa_exporter.cli.pace import HISTORY_STEP, Pace
from numa_exporter.metrics import TABLE, View
from numa_exporter.metrics.exposition import families, text
from numa_exporter.simhost import scenario
from numa_exporter.simhost.fleet import Stencil, drawn
from numa_exporter.simhost.timeline import Simulation, recording
from numa_exporter.sources.replay import ReplayHost

ALIGNED = "aligned"
WRONG_EVERY = 10


@dataclass(slots=True, kw_only=True)
class Model:
    """One simulation that many machines are printed from."""

    told: scenario.Scenario
    seed: int
    looker: Looker
    pace: Pace
    stencil: Stencil | None = None

    def look(self) -> None:
        found = families(TABLE, View(report=self.looker.look(), version=__version__))
        self.stencil = Stencil(text(found), drawn(self.told, self.seed))


def run(args: argparse.Namespace, told: scenario.Scenario) -> None:
    """Let the past go by, then serve until somebody says stop."""
    host, port = serve.address(args.listen)
    models = [_model(args, told), _model(args, scenario.load(ALIGNED))]
    for model in models:
        while not model.pace.met:
            model.look()
    names = [f"simulated-{number:04d}" for number in range(args.fleet)]
    drawn_by = {number: drawn(models[_which(number)].told, args.seed + number) for number in range(args.fleet)}

    def render(number: int) -> bytes:
        stencil = models[_which(number)].stencil
        assert stencil is not None, "looked at before it is served"
        return stencil.filled(drawn_by[number])

    def tick() -> None:
        for model in models:
            model.look()

    asyncio.run(_serve(served.Fleet(names, render, tick, args.interval), host, port))


def _which(number: int) -> int:
    return 0 if number % WRONG_EVERY == 0 else 1


def _model(args: argparse.Namespace, told: scenario.Scenario) -> Model:
    began = time.time()
    pace = Pace(-(args.past or told.past), HISTORY_STEP, lambda: time.time() - began)
    host = ReplayHost(recording(Simulation(told, seed=args.seed, began=began), pace))
    pipeline = serve.pipeline(args, flags.Opened(host=host, step=host.advance, recorded={}))
    return Model(told=told, seed=args.seed, looker=Looker(pipeline), pace=pace)


async def _serve(fleet: served.Fleet, host: str | None, port: int) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        runner, bound = await served.start(fleet, host, port)
    except OSError as error:
        raise UsageError(f"--web.listen-address: :{port}: {os.strerror(error.errno or 0)}") from error
    url = f"http://{'localhost' if host in (None, '0.0.0.0', '::') else host}:{bound}"
    print(f"{len(fleet.names)} simulated machines: {url}/metrics?node=K, http_sd targets at {url}/sd", flush=True)
    ticking = asyncio.create_task(fleet.run())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({ticking, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if ticking.done():
            ticking.result()
    finally:
        for task in (ticking, stopping):
            task.cancel()
        await asyncio.gather(ticking, stopping, return_exceptions=True)
        await runner.cleanup()
