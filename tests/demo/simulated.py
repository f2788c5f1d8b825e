"""A simulated machine under the real sources, the join and the findings, look by look."""

from collections.abc import Iterator

from numa_exporter.agent.look import Looker
from numa_exporter.agent.pipeline import Pipeline
from numa_exporter.model.report import Report
from numa_exporter.model.thresholds import Settings
from numa_exporter.simhost.scenario import Scenario, load, parse
from numa_exporter.simhost.timeline import Simulation, recording
from numa_exporter.sources.replay import ReplayHost
from numa_exporter.sources.table import SOURCES

NOON = 1_769_860_800.0
TICK = 15.0


def simulation(scenario: str | Scenario, seed: int = 1) -> Simulation:
    told = load(scenario) if isinstance(scenario, str) else scenario
    return Simulation(told, seed=seed, began=NOON)


def scenario(text: str) -> Scenario:
    """A scenario of this text, on a machine with two sockets and two GPUs unless it says otherwise."""
    machine = "" if "[machine]" in text else "[machine]\ngpus = [0, 1]\ncores_per_node = 8\n"
    return parse(f'description = "a test"\npast = "40m"\n{machine}{text}', "test.toml")


def host(simulated: Simulation, first: float | None = None, tick: float = TICK) -> ReplayHost:
    begin = -simulated.scenario.past if first is None else first
    return ReplayHost(recording(simulated, lambda index: begin + tick * index))


def pipeline(opened: ReplayHost, settings: Settings | None = None) -> Pipeline:
    return Pipeline(opened, SOURCES, settings or Settings(), opened.advance)


def watched(
    simulated: Simulation, settings: Settings | None = None, past: float | None = None
) -> Iterator[tuple[float, Report]]:
    """(moment, report) of each tick from the beginning of its past to the start of the demo."""
    first = -(past or simulated.scenario.past)
    looker = Looker(pipeline(host(simulated, first), settings))
    for number in range(int(-first / TICK)):
        yield first + number * TICK, looker.look()


def warnings(report: Report) -> set[tuple[str, str | None]]:
    """(code, GPU) of every warning."""
    return {(found.code, found.subject.uuid) for found in report.findings if found.level == "warning"}
