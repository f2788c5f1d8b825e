"""Prints docs/*.md from the code that they describe. `make docs` writes them, a test holds them fresh."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping

from numa_exporter.cli.main import parser
from numa_exporter.findings.docs import markdown as findings
from numa_exporter.metrics import TABLE
from numa_exporter.metrics.docs import markdown as metrics


def flags() -> str:
    """docs/flags.md: every verb's help, as argparse prints it at 100 columns."""
    os.environ["COLUMNS"] = "100"
    parts = ["# Flags\n\nPrinted from the parser by `make docs`; a test holds it fresh.\n"]
    top = parser()
    verbs = next(action for action in top._actions if isinstance(action, argparse._SubParsersAction))
    for name, verb in verbs.choices.items():
        parts.append(f"\n## {name}\n\n```\n{verb.format_help()}```\n")
    return "".join(parts)


PAGES: Mapping[str, Callable[[], str]] = {
    "metrics.md": lambda: metrics(TABLE),
    "findings.md": findings,
    "flags.md": flags,
}


def main(folder: str) -> None:
    for name, page in PAGES.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(page())


if __name__ == "__main__":
    main(sys.argv[1])
