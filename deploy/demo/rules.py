"""The rule files of deploy/rules for a demo: alerts that do not wait, and recording rules in the order of building."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

RULES = Path(__file__).resolve().parent.parent / "rules"
FILES = ("drift", "rollups", "alerts")

Rule = Mapping[str, Any]
_RECORD = re.compile(r"\bnuma:[a-zA-Z0-9_:]+")


def impatient(text: str, interval: int, patience: int) -> str:
    """A rule file whose rules run each ``interval`` seconds and whose alerts wait ``patience`` seconds. The windows of
    what they ask stay as they are: those are answered by history."""
    text = re.sub(r"^(\s*interval:) 1m$", rf"\1 {interval}s", text, flags=re.MULTILINE)
    return re.sub(r"^(\s*(?:for|keep_firing_for):) \S+", rf"\1 {patience}s", text, flags=re.MULTILINE)


def recording_rules() -> list[Rule]:
    """All of them, in the order of the files."""
    groups = [group for name in FILES for group in yaml.safe_load((RULES / f"{name}.rules.yaml").read_text())["groups"]]
    return [rule for group in groups for rule in group["rules"] if "record" in rule]


def levels(rules: Sequence[Rule]) -> list[list[Rule]]:
    """Rules by what they build on: a level reads only what the levels before it record. Rules that remember their own
    past, and what builds on them, are left out: they begin when the demo does."""
    found: list[list[Rule]] = []
    left = list(range(len(rules)))
    while level := [number for number in left if not any(_builds_on(rules, number, other) for other in left)]:
        found.append([rules[number] for number in level])
        left = [number for number in left if number not in level]
    return found


def _builds_on(rules: Sequence[Rule], one: int, other: int) -> bool:
    """Of two rules that record the same series (by state, say), the later one builds on the earlier."""
    record = rules[other]["record"]
    return record in reads(rules[one]) and (record != rules[one]["record"] or other < one)


def reads(rule: Rule) -> set[str]:
    """The recorded series that a rule asks for."""
    return set(_RECORD.findall(rule["expr"]))


def file_of(rules: Iterable[Rule], step: float) -> str:
    """A rule file of one group."""
    group = {"name": "history", "interval": f"{step:.0f}s", "rules": [dict(rule) for rule in rules]}
    return yaml.safe_dump({"groups": [group]}, sort_keys=False)
