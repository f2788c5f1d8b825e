"""The committed dashboards, and what they ask."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.conftest import REPOSITORY

FOLDER = REPOSITORY / "grafana"
NAMES = ("fleet", "node", "workload")
VALUES = {"cluster": ".*", "node": ".*", "namespace": ".*", "workload": ".*", "__rate_interval": "5m"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One expression, with every variable at "All". ``instant`` for tables."""

    dashboard: str
    where: str
    expr: str
    instant: bool = False

    def __str__(self) -> str:
        return f"{self.dashboard}: {self.where}"


def dashboard(name: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return told


def panels(told: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All but the rows that part them."""
    for panel in told["panels"]:
        if panel["type"] != "row":
            yield panel


def filled(expr: str) -> str:
    return re.sub(r"\$(\w+)", lambda variable: VALUES[variable[1]], expr)


def questions() -> Iterator[Question]:
    """Panels, annotations, and the selectors that variables list the labels of."""
    for name in NAMES:
        told = dashboard(name)
        for panel in panels(told):
            for target in panel["targets"]:
                where = f"{panel['title']} {target['refId']}"
                instant = bool(target.get("instant"))
                yield Question(dashboard=name, where=where, expr=filled(target["expr"]), instant=instant)
        for annotation in told["annotations"]["list"]:
            yield Question(dashboard=name, where=annotation["name"], expr=filled(annotation["expr"]))
        for variable in told["templating"]["list"]:
            if variable["type"] == "query":
                listed = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"])
                assert listed is not None
                yield Question(dashboard=name, where=f"${variable['name']}", expr=filled(listed[1]), instant=True)
