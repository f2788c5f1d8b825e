"""What holds for every page: well-formed, escaped, linked, hashed, and found again by the refresh."""

import base64
import hashlib
import re
from itertools import pairwise

import pytest

from numa_exporter.page import render
from tests.page.parsed import parse
from tests.page.reports import NAMES, report, stored, workload

every_machine = pytest.mark.parametrize("name", NAMES)


@every_machine
def test_ids_are_unique_and_every_link_has_a_target(name: str) -> None:
    page = parse(render(stored(name)).html)
    ids = [e.attributes["id"] for e in page.every() if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    local = [e.attributes["href"] for e in page.every("a") if e.attributes["href"].startswith("#")]
    assert {link[1:] for link in local} <= set(ids)


@every_machine
def test_no_element_carries_a_style_or_a_handler(name: str) -> None:
    for element in parse(render(stored(name)).html).every():
        assert "style" not in element.attributes
        assert not [a for a in element.attributes if a.startswith("on")]


@every_machine
def test_the_policy_allows_this_style_and_this_script_and_nothing_else(name: str) -> None:
    page = render(stored(name))
    policy = dict(part.split(" ", 1) for part in page.csp.split("; "))
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", page.html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert policy[directive] == f"'sha256-{digest}'"
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["connect-src"] == "'self'"


@every_machine
def test_every_link_and_summary_of_main_is_found_again_after_a_refresh(name: str) -> None:
    (main,) = parse(render(stored(name)).html).every("main")
    for element in main.every("a", "summary"):
        keeper = element if element.tag == "a" else element.parent
        assert keeper is not None and "id" in keeper.attributes, element.text


@every_machine
def test_marks_are_hidden_from_speech_and_each_row_says_its_sentence(name: str) -> None:
    page = parse(render(stored(name)).html)
    assert all(svg.attributes.get("aria-hidden") == "true" for svg in page.every("svg"))
    for row in page.with_class("rows"):
        for rank in row.with_class("row"):
            hidden = [e for e in rank.every("div") if e.attributes.get("aria-hidden") == "true"]
            assert len(hidden) >= 3
            assert len([e for e in rank.with_class("spoken") if e.text.startswith("GPU ")]) == 1


@every_machine
def test_headings_go_down_one_step_at_a_time_under_one_h1(name: str) -> None:
    levels = [int(e.tag[1]) for e in parse(render(stored(name)).html).every("h1", "h2", "h3")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_the_same_document_gives_the_same_bytes() -> None:
    assert render(stored("forty")) == render(stored("forty"))


def test_a_hostile_name_is_only_text() -> None:
    page = render(stored("edges"))
    assert "<b>x" not in page.html
    heading = [e for e in parse(page.html).every("h3") if "x" in e.text and "<" in e.text]
    assert [e.text for e in heading] == ['serving/<b>x</b>&"']


HOSTILE = "</title></style></script><script>alert(1)</script><img src=x onerror=alert(1)>\"'"


def hostile(value: object) -> object:
    """Every string of a document replaced, those that carry a meaning aside."""
    if isinstance(value, str):
        kept = value in {"cpu", "memory", "gpu", "warning", "info", "PIX"} or value.startswith("GPU-")
        return value if kept else HOSTILE
    if isinstance(value, list):
        return [hostile(item) for item in value]
    if isinstance(value, dict):
        return {key if key.isascii() else HOSTILE: hostile(item) for key, item in value.items()}
    return value


@every_machine
def test_no_string_of_the_host_becomes_an_element(name: str) -> None:
    attacked = hostile(stored(name))
    assert isinstance(attacked, dict)
    page = parse(render(attacked).html)
    assert len(page.every("script")) == len(page.every("style")) == len(page.every("title")) == 1
    assert page.every("img") == []
    assert HOSTILE in page.every("title")[0].text


def test_hostile_keys_are_only_text_too() -> None:
    bad = report(workload("a"), thresholds={HOSTILE: 1}, sources={HOSTILE: {"up": False, "failure": HOSTILE}})
    page = parse(render(bad).html)
    assert len(page.every("script")) == 1
    assert page.every("img") == []


def test_the_page_stays_small() -> None:
    assert len(render(stored("two-socket")).html.encode()) < 40_000
