"""Prints docs/*.md from the code that they describe. `make docs` writes them, a test holds them fresh."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping

from numa_exporter.cli.main import parser
from numa_exporter.findings.docs import markdown as findings
from numa_exporter.metrics import TABLE
from numa_exporter.metrics.docs import markdown as metrics

FLAGS_HEADER = """# Flags

Printed from the parser by `make docs`; a test holds it fresh.

DURATION: `15`, `15s`, `500ms`, `2m`, `1h`. SIZE and N: a number, with `KiB`, `MiB`, `GiB` or `TiB` if you like. SHARE:
0.2 is 20 %.
"""


def flags() -> str:
    """docs/flags.md. Tables of our own: argparse prints help differently in each Python version."""
    top = parser()
    verbs = next(action for action in top._actions if isinstance(action, argparse._SubParsersAction))
    users: dict[tuple[str, str], list[str]] = {}
    for name, verb in verbs.choices.items():
        for group in verb._action_groups:
            rows = "".join(_row(action) for action in group._group_actions if action.dest != "help")
            if rows:
                users.setdefault((group.title or "", rows), []).append(name)
    parts = [FLAGS_HEADER]
    for verb in verbs._choices_actions:
        parts.append(f"\n## {verb.dest}\n\n{verb.help}\n")
        parts += [_table(title, rows) for (title, rows), names in users.items() if names == [verb.dest]]
    parts.append("\n## Shared by several verbs\n")
    parts += [_table(f"{title} ({', '.join(names)})", rows) for (title, rows), names in users.items() if len(names) > 1]
    return "".join(parts)


def _table(title: str, rows: str) -> str:
    return f"\n### {title}\n\n| flag | what it does |\n|---|---|\n{rows}"


def _row(action: argparse.Action) -> str:
    value = f" {action.metavar or '{' + ','.join(map(str, action.choices or ())) + '}'}" if action.nargs != 0 else ""
    said = (action.help or "") % vars(action)
    names = ", ".join(f"`{name}{value}`" for name in action.option_strings) or f"`{action.metavar or action.dest}`"
    return f"| {_cell(names)} | {_cell(said)} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


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
