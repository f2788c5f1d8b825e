"""How far the sampler errs: the real one on synthetic address spaces with known truth.

    python -m tests.bench.sampler_simulate --runs 500 [NAME…]

Each run is a world of its own, sampled six times; the sixth look counts, so all counted looks are independent.
Columns: bias of the share on node 1 with its 95 % bounds, median half-width, coverage (how often the truth lies
within), withheld looks, all in points or per cent; below them bias and coverage of each backing, where there are
several.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from math import sqrt
from statistics import fmean, median, pstdev

from numa_exporter.model.estimate import Part, half_width
from numa_exporter.sources.sampler.estimator import Estimate
from numa_exporter.sources.sampler.intervals import size
from numa_exporter.sources.sampler.sampler import Sampler
from tests.bench.benchmark import Bar, Benchmark, Cell, Result
from tests.bench.markdown import shown, table
from tests.bench.sampler_scenarios import SCENARIOS
from tests.bench.sampler_worlds import ByNode, World, resident

LOOKS = 6
NODE = 1
RUNS = 500
JOBS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """One share against the truth."""

    error: float
    half_width: float

    @property
    def covered(self) -> bool:
        return abs(self.error) <= self.half_width


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The last look of one world: the shot for all memory (None: withheld), and for each backing."""

    whole: Shot | None
    backings: Mapping[str, Shot] = field(default_factory=dict)
    withheld: str | None = None


def run(name: str, scans: bool, seed: int, looks: int = LOOKS) -> Run:
    """One world."""
    world = SCENARIOS[name](seed, scans)
    sampler = Sampler()
    for number in range(looks):
        if number:
            world.advance()
        made = sampler.look(world, world.frame(), resident(world), seed * 7919 + number)
    return _judged(world, made)


def _judged(world: World, made: Estimate) -> Run:
    if made.withheld:
        return Run(whole=None, withheld=made.withheld)
    truth = world.truth()
    everything = sum(sum(nodes.values()) for nodes in truth.values())
    total = sum(made.pages.values())
    shots, parts, share = {}, [], 0.0
    for backing, tally in made.tallies.items():
        if not tally.pages:
            continue
        here = tally.by_node.get(NODE, 0.0) / tally.pages
        part = Part(made.pages[backing] / total, here, tally.effective)
        parts.append(part)
        share += part.fraction * here
        width = half_width([part._replace(fraction=1.0)])
        shots[str(backing)] = Shot(error=here - _share(truth[backing]), half_width=width)
    far = sum(nodes.get(NODE, 0.0) for nodes in truth.values()) / everything
    return Run(whole=Shot(error=share - far, half_width=half_width(parts)), backings=shots)


def _share(nodes: ByNode) -> float:
    return nodes.get(NODE, 0.0) / sum(nodes.values())


def lines(name: str, scans: bool, runs: list[Run]) -> Iterator[tuple[Cell, ...]]:
    """The rows of one scenario: all memory, then each backing where there are several."""
    told = [one for one in runs if one.whole is not None]
    label = f"{name}{'' if scans else ', no scan'}"
    yield _row(label, [one.whole for one in told if one.whole], 100 * (1 - len(told) / len(runs)))
    backings = sorted({backing for one in told for backing in one.backings})
    for backing in backings if len(backings) > 1 else ():
        yield _row(f"… {backing}", [one.backings[backing] for one in told if backing in one.backings], None)


def _row(label: str, shots: list[Shot], withheld: float | None) -> tuple[Cell, ...]:
    if not shots:
        return label, None, None, None, None, withheld
    errors = [100 * shot.error for shot in shots]
    coverage = 100 * fmean(shot.covered for shot in shots)
    bounds = 1.96 * pstdev(errors) / sqrt(len(errors))
    return label, fmean(errors), bounds, 100 * median(shot.half_width for shot in shots), coverage, withheld


COLUMNS = ("scenario", "bias", "±", "half-width", "coverage, %", "withheld, %")


def simulate(names: Sequence[str], modes: Sequence[bool], count: int, jobs: int) -> Iterator[tuple[Cell, ...]]:
    """All rows; ``modes``: with PAGEMAP_SCAN, without, or both."""
    with ProcessPoolExecutor(jobs) as pool:
        for name in SCENARIOS:
            if names and not any(wanted in name for wanted in names):
                continue
            for scans in modes:
                if scans or _sparse(name) or modes == (False,):
                    yield from simulate_one(pool, name, scans, count)


def simulate_one(pool: Executor, name: str, scans: bool, count: int) -> Iterator[tuple[Cell, ...]]:
    """The rows of one scenario."""
    runs = list(pool.map(partial(run, name, scans), range(1, count + 1), chunksize=4))
    for row in lines(name, scans, runs):
        print(*map(shown, row), sep="  ", file=sys.stderr, flush=True)
        yield row


def _sparse(name: str) -> bool:
    """Whether scans could be asked at all: with half of a frame resident, both modes are one."""
    world = SCENARIOS[name](1, True)
    return any(
        sum(world.truth()[backing].values()) < 0.5 * size(intervals) for backing, intervals in world.frame().items()
    )


def measure() -> Iterator[Result]:
    """Every scenario with PAGEMAP_SCAN, then the sparse ones without: a Result after each scenario."""
    modes: dict[bool, list[tuple[Cell, ...]]] = {True: [], False: []}
    sparse = [name for name in SCENARIOS if _sparse(name)]
    with ProcessPoolExecutor(JOBS) as pool:
        for scans, names in ((True, list(SCENARIOS)), (False, sparse)):
            for done, name in enumerate(names, 1):
                modes[scans] += simulate_one(pool, name, scans, RUNS)
                yield _result(modes[True], modes[False], f"{name} is number {done} of {len(names)}")
    yield _result(modes[True], modes[False], None)


def _result(scanned: list[tuple[Cell, ...]], blind: list[tuple[Cell, ...]], unfinished: str | None) -> Result:
    bars = [
        Bar(
            what="least coverage of any scenario or backing with PAGEMAP_SCAN, %",
            measured=min(_figures(scanned, 4)),
            limit=94.0,
            kind="at least",
        ),
        Bar(what="largest bias there, points", measured=max(map(abs, _figures(scanned, 1))), limit=0.3),
        Bar(what="most looks withheld there, %", measured=max(_figures(scanned, 5)), limit=1.0),
    ]
    if blind:
        least = min(_figures(blind, 4))
        bars.append(Bar(what="least coverage without it, %", measured=least, limit=94.0, kind="at least"))
    notes = [f"{RUNS} independent looks a row: the sixth of as many worlds"]
    if unfinished is not None:
        notes.append(f"not all scenarios yet: {unfinished}")
    return Result(columns=COLUMNS, rows=(*scanned, *blind), bars=tuple(bars), notes=tuple(notes))


def _figures(rows: Sequence[tuple[Cell, ...]], column: int) -> list[float]:
    return [float(row[column]) for row in rows if isinstance(row[column], float)]


BENCHMARK = Benchmark(
    name="sampler_error",
    title="Error of the page sampler",
    method="The real sampler on synthetic address spaces with known truth (tests/bench/sampler_scenarios.py), with and "
    "without PAGEMAP_SCAN (kernels since 6.7, and before): bias of the share of pages on node 1 with its 95 % bounds, "
    "median half-width (both in points), how often the truth lies within it, and how many looks are withheld.",
    run=measure,
    named_only=True,
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.sampler_simulate", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios whose name contains this (default: all)")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--scan", choices=("yes", "no", "both"), default="both")
    options = parser.parse_args()
    modes = {"yes": (True,), "no": (False,), "both": (True, False)}[options.scan]
    rows = list(simulate(options.names, modes, options.runs, options.jobs))
    print("\n".join(table(list(COLUMNS), [list(row) for row in rows])))


if __name__ == "__main__":
    main()
