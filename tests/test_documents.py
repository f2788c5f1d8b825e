"""The documents: printed ones are fresh, and every metric, finding and flag that any of them names exists."""

import argparse
import re
from pathlib import Path

import pytest

from numa_exporter.cli.docs import PAGES
from numa_exporter.cli.main import parser
from numa_exporter.findings import FINDINGS
from numa_exporter.metrics import TABLE
from numa_exporter.model.thresholds import Thresholds, limits
from tests.conftest import REPOSITORY

DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "deploy/**/*.md")
    for path in REPOSITORY.glob(pattern)
    if path.name != "CHANGELOG.md"
)
WORDS = {
    "numa_exporter",
    "numa_node",
    "numa_maps",
    "numa_foreign",
    "numa_balancing",
    "numa_stat",
    "numa_status",
    "numa_hint_faults",
    "numa_pages_migrated",
}
"""Labels, kernel files and the program: written like metrics."""

PENDING_FLAGS = {"--gpu"}
"""Of the verb exec, which is in the contract and not here yet."""


@pytest.mark.parametrize("name", PAGES)
def test_printed_documents_are_fresh(name: str) -> None:
    """`make docs` prints them anew."""
    assert (REPOSITORY / "docs" / name).read_text() == PAGES[name]()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_every_metric_that_is_named_exists(document: Path) -> None:
    text = document.read_text()
    # `numa_rank_*` is a prefix, `numa_node_memory_bytes{...}` a name, `_total` belongs to the name.
    named = set(re.findall(r"\bnuma_[a-z_]*[a-z]\b(?!\*|_)", text))
    known = {row.name for row in TABLE} | {rule.code for rule in FINDINGS} | WORDS
    assert named <= known


def flags() -> set[str]:
    verbs = next(action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    every = [parser(), *verbs.choices.values()]
    return {name for one in every for action in one._actions for name in action.option_strings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_every_flag_that_is_named_exists(document: Path) -> None:
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z.-]*[a-z](?!\.?[\w*-])", document.read_text()))
    ours = {name for name in named if name.partition(".")[0] in {flag.partition(".")[0] for flag in flags()}}
    assert ours <= flags() | PENDING_FLAGS


def test_what_is_pending_is_still_pending() -> None:
    assert not PENDING_FLAGS & flags()


def test_every_threshold_of_the_contract_is_a_flag_and_a_gauge() -> None:
    assert {f"--threshold.{limit.name.replace('_', '-')}" for limit in limits(Thresholds())} <= flags()


def test_every_link_to_a_file_leads_somewhere() -> None:
    for document in DOCUMENTS:
        for target in re.findall(r"\]\((?!https?:|#|/)([^)#]+)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
