"""Runs benchmarks, shows their tables, and keeps them in docs/."""

import argparse
import sys

from tests.bench import record
from tests.bench.benchmark import UnableError
from tests.bench.markdown import shown, table
from tests.bench.table import BENCHMARKS


def main() -> int:
    names = [row.name for row in BENCHMARKS]
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)} (default: all)")
    wanted = parser.parse_args().names or names
    unknown = set(wanted) - set(names)
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    missed = 0
    for row in BENCHMARKS:
        if row.name not in wanted:
            continue
        print(f"== {row.name}: {row.title}", flush=True)
        try:
            result = row.run()
        except UnableError as reason:
            print(f"not measured: {reason}")
            continue
        record.save(row.name, result)
        print("\n".join(table(list(result.columns), [list(cells) for cells in result.rows])))
        for bar in result.bars:
            missed += not bar.met
            said = "met" if bar.met else "NOT MET"
            print(f"{said}: {bar.what}: {shown(bar.measured)}, {bar.kind} {shown(bar.limit)}")
        print(*result.notes, sep="\n", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
