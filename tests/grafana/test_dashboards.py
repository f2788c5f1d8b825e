"""Dashboards: fresh, readable for Grafana, and naming only what exists."""

import importlib.util
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from numa_exporter.metrics import TABLE
from tests.conftest import REPOSITORY
from tests.demo import foreign
from tests.grafana.dashboards import FOLDER, NAMES, Question, dashboard, panels, questions
from tests.modules import need_module

TARGET_LABELS = {"cluster", "node", "instance", "job"}
LABELS = {row.name: {*row.labels, *TARGET_LABELS} for row in TABLE}


def records() -> set[str]:
    """Every recorded series of deploy/rules."""
    files = (REPOSITORY / "deploy" / "rules").glob("*.rules.yaml")
    groups = [group for file in files for group in yaml.safe_load(file.read_text())["groups"]]
    return {rule["record"] for group in groups for rule in group["rules"] if "record" in rule}


@pytest.fixture(scope="module")
def build() -> Any:
    need_module("grafana_foundation_sdk", reason="needs the extra `grafana`")
    spec = importlib.util.spec_from_file_location("build_dashboards", FOLDER / "build.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_committed_files_are_fresh(build: Any) -> None:
    """Run `make dashboards` if this fails."""
    made = build.documents()
    assert set(made) == {file.name for file in FOLDER.glob("*.json")}
    for name, text in made.items():
        assert (FOLDER / name).read_text() == text, name


@pytest.mark.parametrize("name", NAMES)
def test_grafanas_own_types_keep_every_field(name: str, build: Any) -> None:
    """What its schema does not know is dropped in a round trip."""
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.models.dashboard import Dashboard

    told = dashboard(name)
    assert json.loads(JSONEncoder().encode(Dashboard.from_json(told))) == told


@pytest.mark.parametrize("name", NAMES)
def test_every_panel_explains_itself(name: str) -> None:
    told = dashboard(name)
    titles = [panel["title"] for panel in panels(told)]
    assert len(titles) == len(set(titles))
    for panel in panels(told):
        assert panel["description"].endswith("."), panel["title"]
        assert panel["datasource"]["uid"] == "${datasource}", panel["title"]
        if panel["type"] in ("timeseries", "stat"):
            assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]


@pytest.mark.parametrize("name", NAMES)
def test_panels_do_not_overlap(name: str) -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in panels(dashboard(name)):
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in taken, (panel["title"], taken.get((x, y)))
                taken[x, y] = panel["title"]


def test_they_lead_to_each_other() -> None:
    uids = {name: dashboard(name)["uid"] for name in NAMES}
    for name in NAMES:
        text = (FOLDER / f"{name}.json").read_text()
        for other, uid in uids.items():
            assert (f"/d/{uid}?" in text) == (other != name)


def test_the_node_dashboard_is_about_one_machine() -> None:
    """Its graphs are by NUMA node: those of two machines would be added up."""
    (chosen,) = (one for one in dashboard("node")["templating"]["list"] if one["name"] == "node")
    assert not chosen["multi"]
    assert not chosen["includeAll"]


@pytest.mark.parametrize("name", NAMES)
def test_colours_work_on_dark_and_light(name: str) -> None:
    """Named colours have a form for each theme; a number has one for neither."""
    assert not re.search(r'"#[0-9a-fA-F]{3,8}"|rgba?\(', (FOLDER / f"{name}.json").read_text())


@pytest.mark.parametrize("question", list(questions()), ids=str)
def test_an_expression_is_promql_and_names_what_exists(question: Question) -> None:
    parser = need_module("promql_parser", reason="needs the extra `grafana`")
    known = {*LABELS, *records(), *foreign.NAMES}
    asked = list(selectors(parser.parse(question.expr)))
    assert asked
    for name, labels in asked:
        assert name in known, name
        unknown = labels - LABELS.get(name, labels)
        assert not unknown, (name, unknown)


def selectors(node: Any) -> Iterator[tuple[str, set[str]]]:
    """(metric, labels that are asked for) of every selector in a parsed expression."""
    if type(node).__name__ == "VectorSelector":
        yield node.name, {matcher.name for matcher in node.matchers.matchers}
        return
    for attribute in ("expr", "lhs", "rhs", "param", "vector_selector", "vs"):
        below = getattr(node, attribute, None)
        if below is not None and not isinstance(below, str | int | float):
            yield from selectors(below)
    for argument in getattr(node, "args", None) or ():
        yield from selectors(argument)
