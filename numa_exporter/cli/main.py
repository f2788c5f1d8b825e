"""The command line: one parser, one small file per verb."""

import argparse
import errno
import io
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
    _settle_output()
    words = sys.argv[1:] if arguments is None else arguments
    try:
        return _run(_parsed(words))
    except KeyboardInterrupt:  # also while the verb is imported: that is most of the first second
        return 130


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    top = parser(words[:1] if words and words[0] in VERBS else VERBS)
    args, unknown = top.parse_known_args(words)
    if unknown:
        top.prog += f" {args.verb}"  # whose --help has the flags; argparse would name the whole command's
        top.error(f"unrecognized arguments: {' '.join(unknown)}")
    return args


def _settle_output() -> None:
    """Where standard output is closed nobody reads us; what its encoding lacks is a question mark, not an error."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - it stays open as long as we run
    elif isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _run(args: argparse.Namespace) -> int:
    try:
        status: int = args.run(args)
        sys.stdout.flush()
        return status
    except UsageError as error:
        # It may quote a bundle or a table that somebody else has made. Not at the top: few starts end here.
        from numa_exporter.cli.report_text import Style, harmless

        print(f"numa-exporter {args.verb}: {harmless(str(error), Style())}", file=sys.stderr)
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


if __name__ == "__main__":
    sys.exit(main())
