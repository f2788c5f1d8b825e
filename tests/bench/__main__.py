"""Runs benchmarks, shows their tables, and keeps them in docs/."""

import argparse
import sys

from numa_exporter.cli import interpreter
from tests.bench import record
from tests.bench.benchmark import UnableError
from tests.bench.markdown import shown, table
from tests.bench.table import BENCHMARKS


def main() -> int:
    names = [row.name for row in BENCHMARKS]
    apart = [row.name for row in BENCHMARKS if row.named_only]
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(names)} (default: all but {', '.join(apart)})"
    )
    wanted = parser.parse_args().names or set(names) - set(apart)
    unknown = set(wanted) - set(names)
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    interpreter.settle()  # the readings measured in this process run as in an agent
    missed = 0
    for row in BENCHMARKS:
        if row.name not in wanted:
            continue
        print(f"== {row.name}: {row.title}", flush=True)
        result = None
        try:
            for result in row.run():
                record.save(row.name, result)
        except UnableError as reason:
            print(f"not measured: {reason}")
            record.save_unable(row.name, str(reason))
        if result is None:
            continue
        print("\n".join(table(list(result.columns), [list(cells) for cells in result.rows])))
        for bar in result.bars:
            missed += not bar.met
            said = "met" if bar.met else "NOT MET"
            print(f"{said}: {bar.what}: {shown(bar.measured)}, {bar.kind} {shown(bar.limit)}")
        print(*result.notes, sep="\n", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
