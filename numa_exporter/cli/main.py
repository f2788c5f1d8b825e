"""The command line: one parser, one small file per verb."""

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from numa_exporter import __version__
from numa_exporter.cli.errors import EXIT_UNKNOWN, UsageError

VERBS = ("serve", "report", "topo", "snapshot", "demo")
"""Each is a module here, with ``add`` for its part of the parser."""


class Parser(argparse.ArgumentParser):
    """Refuses in one line; argparse would print sixty lines of usage before it."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_UNKNOWN, f"{self.prog}: {message}; see {self.prog} --help\n")


def parser(verbs: Sequence[str] = VERBS) -> argparse.ArgumentParser:
    """The whole command line, from which docs/flags.md is printed, or that of some verbs.

    Half of the start of `report` would go into importing the web server that only `serve` needs.
    """
    top = Parser(
        prog="numa-exporter",
        description="Which of my GPU workloads run against the grain of their machine, and what do I change?",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"numa_exporter {__version__}")
    group = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb in verbs:
        import_module(f"numa_exporter.cli.{verb}").add(group)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; its exit status. A usage error is one line on standard error and status 2."""
    words = sys.argv[1:] if arguments is None else arguments
    args = parser(words[:1] if words and words[0] in VERBS else VERBS).parse_args(words)
    try:
        status: int = args.run(args)
        sys.stdout.flush()
        return status
    except UsageError as error:
        print(f"numa-exporter {args.verb}: {error}", file=sys.stderr)
        return EXIT_UNKNOWN
    except OSError as error:
        if error.filename is not None:
            raise
        # Standard output: a reader that went away (head, less) is no error of ours, a full disk wants a word. Either
        # way the interpreter must not flush into it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno != errno.EPIPE:
            print(f"numa-exporter {args.verb}: standard output: {error.strerror}", file=sys.stderr)
        return EXIT_UNKNOWN
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
