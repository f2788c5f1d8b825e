"""How far the sampler errs: the real one on synthetic address spaces with known truth.

    python -m tests.bench.sampler_simulate --runs 500 [NAME…]

Each run is a world of its own, sampled six times; the sixth look counts, so all counted looks are independent.
Columns: bias of the share on node 1 with its 95 % bounds, median half-width, coverage (how often the truth lies
within), withheld looks, all in points or per cent; below them bias and coverage of each backing, where there are
several.
"""

import argparse
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from math import sqrt
from statistics import fmean, median, pstdev

from numa_exporter.model.estimate import Part, half_width
from numa_exporter.sources.sampler.estimator import Estimate
from numa_exporter.sources.sampler.sampler import Sampler
from tests.bench.sampler_scenarios import SCENARIOS
from tests.bench.sampler_worlds import ByNode, World, resident

LOOKS = 6
NODE = 1


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


def row(label: str, shots: list[Shot], withheld: float | None) -> str:
    if not shots:
        return f"{label:44} withheld always"
    errors = [shot.error for shot in shots]
    coverage = fmean(shot.covered for shot in shots)
    bounds = 1.96 * pstdev(errors) / sqrt(len(errors))
    told = (
        f"{label:44} {100 * fmean(errors):+6.2f} ±{100 * bounds:4.2f}  {100 * median(s.half_width for s in shots):5.1f}"
    )
    told += f"  {100 * coverage:5.1f} ±{196 * sqrt(coverage * (1 - coverage) / len(shots)):3.1f}"
    return told + ("" if withheld is None else f"  {100 * withheld:5.1f}")


def table(name: str, scans: bool, runs: list[Run]) -> Iterator[str]:
    """The lines of one scenario."""
    told = [one for one in runs if one.whole is not None]
    label = f"{name} ({'scan' if scans else 'no scan'})"
    yield row(label, [one.whole for one in told if one.whole], 1 - len(told) / len(runs))
    backings = sorted({backing for one in told for backing in one.backings})
    for backing in backings if len(backings) > 1 else ():
        yield row(f"    {backing}", [one.backings[backing] for one in told if backing in one.backings], None)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.sampler_simulate", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios whose name contains this (default: all)")
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--scan", choices=("yes", "no", "both"), default="both")
    options = parser.parse_args()
    print(f"{'':44} {'bias ± 95 %':>13}  {'±hw':>5}  {'cover ± 95 %':>10}  withheld", flush=True)
    modes = {"yes": (True,), "no": (False,), "both": (True, False)}[options.scan]
    with ProcessPoolExecutor(options.jobs) as pool:
        for name in SCENARIOS:
            if options.names and not any(wanted in name for wanted in options.names):
                continue
            for scans in modes:
                runs = list(pool.map(partial(run, name, scans), range(1, options.runs + 1), chunksize=4))
                print("\n".join(table(name, scans, runs)), flush=True)


if __name__ == "__main__":
    main()
