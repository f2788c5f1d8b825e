"""demo: a simulated machine on which something goes wrong while you watch."""

import argparse
import os
import time

from numa_exporter import __version__
from numa_exporter.agent import logs
from numa_exporter.agent.look import Looker
from numa_exporter.agent.loop import Loop
from numa_exporter.agent.pipeline import Pipeline
from numa_exporter.cli import demo_fleet, flags, serve
from numa_exporter.cli.errors import EXIT_OK, UsageError
from numa_exporter.cli.pace import HISTORY_STEP, Pace
from numa_exporter.metrics import TABLE, View, history
from numa_exporter.metrics.exposition import families
from numa_exporter.simhost import scenario
from numa_exporter.simhost.keys import ScenarioError
from numa_exporter.simhost.timeline import Simulation, recording
from numa_exporter.sources.replay import ReplayHost

JUDGED_AFTER = 6 * 60.0
"""Seconds from a change to its verdict: the window of CPU time, and three looks."""
UNBOUND = 1e9
"""The agent's CPU budget here: time runs faster than it does for an agent that must not be noticed."""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "demo", help="the agent on a simulated machine, where a placement drifts", allow_abbrev=False
    )
    group = parser.add_argument_group("simulation")
    group.add_argument(
        "--scenario",
        default="two-socket-eight-gpu",
        metavar="NAME|FILE.toml",
        help=f"what happens, on which machine: {', '.join(scenario.built_in())}, or a file (default: %(default)s)",
    )
    group.add_argument(
        "--speed",
        type=speed,
        default=30.0,
        metavar="N",
        help="its past goes by N times faster than the clock until it has caught up with it (default: 30)",
    )
    group.add_argument("--past", type=flags.seconds, metavar="DURATION", help="how long its past is (default: its own)")
    group.add_argument("--seed", type=int, default=1, metavar="N", help="draws ids and names of pods (default: 1)")
    group.add_argument(
        "--fleet",
        type=flags.count,
        metavar="N",
        help="so many machines on one port: /metrics?node=K, and /sd for Prometheus' http_sd_configs",
    )
    group.add_argument(
        "--history",
        metavar="FILE",
        help="let the past go by at once, and write a sample of it each minute for promtool tsdb create-blocks-from",
    )
    group.add_argument(
        "--history.label",
        dest="history_labels",
        action="append",
        type=label,
        default=[],
        metavar="NAME=VALUE",
        help="a label that Prometheus will give this target (repeatable)",
    )
    serve.add_agent(parser)
    flags.add_judging(parser)
    # Its kubelet is where kubelets are, and nobody asks its runtime.
    parser.set_defaults(run=run, cpu_budget=UNBOUND, kubelet_root=None, cri_socket=None)


def speed(text: str) -> float:
    """At least 1."""
    value = float(text) if text.replace(".", "", 1).isdigit() else 0.0
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, found {text!r}")
    return value


def label(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, found {text!r}")
    return name, value


def run(args: argparse.Namespace) -> int:
    logs.start(args.log_level, args.log_format)
    told = _scenario(args.scenario)
    if args.fleet:
        if args.history:
            raise UsageError("--history: of one machine only, not of a --fleet")
        demo_fleet.run(args, told)
        return EXIT_OK
    began = time.time()
    pace = Pace(-(args.past or told.past), HISTORY_STEP if args.history else args.interval, lambda: time.time() - began)
    simulation = Simulation(told, seed=args.seed, began=began)
    host = ReplayHost(recording(simulation, pace))
    loop: Loop | None = None

    def step() -> None:
        host.advance()
        if loop is not None:
            loop.interval = args.interval if pace.met else args.interval / args.speed

    opened = flags.Opened(host=host, step=step, recorded={})
    pipeline = serve.pipeline(args, opened)
    if args.history:
        write_history(pipeline, pace, args.history, dict(args.history_labels))
    elif past := unfolding(told, args.past or told.past, args.speed):
        print(past, flush=True)
    loop = serve.agent(args, pipeline)
    loop.interval = args.interval if pace.met else args.interval / args.speed
    serve.listen(args, loop)
    return EXIT_OK


def unfolding(told: scenario.Scenario, past: float, speed: float) -> str | None:
    """When something will be seen that has not been so from the start; None where nothing changes in the past."""
    changes = [life.at for workload in told.workload for life in workload.life[1:] if -past < life.at < 0]
    if not changes:
        return None
    shows = (past + max(changes) + JUDGED_AFTER) / speed
    return (
        f"{past / 60:.0f} min go by first, {speed:g} times as fast; what changes in them shows in about {shows:.0f} s."
    )


def write_history(pipeline: Pipeline, pace: Pace, path: str, target: dict[str, str]) -> None:
    """Look until the simulation has met the clock; whole or not at all, for somebody waits for this file."""
    looker = Looker(pipeline)
    part = f"{path}.part"
    try:
        with open(part, "wb") as file:
            while not pace.met:
                report = looker.look()
                found = families(TABLE, View(report=report, version=__version__))
                file.write(history.samples(found, report.placement.taken_at, target))
            file.write(history.END)
        os.replace(part, path)
    except OSError as error:
        raise UsageError(f"--history: {path}: {error.strerror}") from error


def _scenario(name: str) -> scenario.Scenario:
    try:
        return scenario.load(name)
    except OSError as error:
        raise UsageError(f"--scenario: {name}: {error.strerror}") from error
    except ScenarioError as error:
        raise UsageError(f"--scenario: {error}") from error
