"""The command line: one parser, one small file per verb."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from numa_exporter import __version__
from numa_exporter.cli import demo, report, serve, snapshot, topo
from numa_exporter.cli.errors import EXIT_UNKNOWN, UsageError

VERBS = (serve, report, topo, snapshot, demo)


class Parser(argparse.ArgumentParser):
    """Refuses in one line; argparse would print sixty lines of usage before it."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_UNKNOWN, f"{self.prog}: {message}; see {self.prog} --help\n")


def parser() -> argparse.ArgumentParser:
    """The whole command line; docs/flags.md is printed from it."""
    top = Parser(
        prog="numa-exporter",
        description="Which of my GPU workloads run against the grain of their machine, and what do I change?",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"numa_exporter {__version__}")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb in VERBS:
        verb.add(verbs)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; its exit status. A usage error is one line on standard error and status 2."""
    args = parser().parse_args(arguments)
    try:
        status: int = args.run(args)
        sys.stdout.flush()
        return status
    except UsageError as error:
        print(f"numa-exporter {args.verb}: {error}", file=sys.stderr)
        return EXIT_UNKNOWN
    except BrokenPipeError:
        # The reader (head, less) went away: not an error of ours. Keep the interpreter from flushing into it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_UNKNOWN
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
