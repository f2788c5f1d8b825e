"""Which workload, how much, where, what to type: on the page of every machine, stored and recorded."""

import json
from functools import partial

import pytest

from numa_exporter.page import render
from tests.hosts.recorded import HOSTS, replay
from tests.hosts.recorded import names as recorded
from tests.page.parsed import Element, parse
from tests.page.reports import NAMES, Json, stored

MACHINES = {name: partial(stored, name) for name in NAMES} | {
    f"host-{name}": partial(lambda name: json.loads(replay(HOSTS / name, "--json")), name) for name in recorded()
}
EACH = pytest.mark.parametrize("name", MACHINES)
MOST_LINES = 5


def drawn(document: Json) -> Element:
    return parse(render(document).html)


def by_id(page: Element, name: str) -> Element:
    (found,) = [element for element in page.every() if element.attributes.get("id") == name]
    return found


def warned(document: Json) -> set[str]:
    """The workloads with a warning that nobody declared intended, by the name that the page gives them."""
    live = [one for one in document["findings"] if one["level"] == "warning" and not one["suppressed"]]
    subjects = [one["subject"] for one in live]
    return {
        one.get("unit") or "/".join(part for part in (one.get("namespace"), one.get("pod")) if part)
        for one in subjects
        if one.get("unit") or one.get("pod")
    }


@EACH
def test_the_first_lines_name_every_workload_and_lead_to_what_to_type(name: str) -> None:
    document = MACHINES[name]()
    page = drawn(document)
    lines = [line for line in by_id(page, "verdict").every("li") if line.text.split(":")[0] != "the machine"]
    named = {line.every("a")[0].text: line for line in lines if line.every("a")}
    wanted = warned(document)
    assert len(wanted & named.keys()) == min(len(wanted), MOST_LINES)
    for line in named.values():
        links = [link.attributes["href"] for link in line.every("a")]
        places = [by_id(page, link.removeprefix("#")) for link in links]
        assert places[1:] == [] or places[1].every("pre", "li"), line.text


@EACH
def test_every_finding_is_on_the_page(name: str) -> None:
    document = MACHINES[name]()
    text = drawn(document).text
    assert [one["code"] for one in document["findings"] if one["sentence"].replace("\u00a0", " ") not in text] == []
