"""Every machine in a real browser: nothing breaks the policy, overflows, or fails axe-core (WCAG 2.2 AA).

With SCREENSHOTS=DIRECTORY each page is also written there as a picture, to be looked at.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

from numa_exporter.page import render
from tests.browser.demo import NAMES as DEMOS
from tests.browser.demo import demo
from tests.browser.site import Site
from tests.hosts.recorded import HOSTS, replay
from tests.hosts.recorded import names as recorded
from tests.page.reports import NAMES, Json, everything, rank, report, stored, workload

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("browser")]

MACHINES: dict[str, Callable[[], Json]] = {
    **{name: partial(stored, name) for name in NAMES},
    **{f"demo-{name}": partial(demo, name) for name in DEMOS},
    "everything": everything,
    "no-gpu": lambda: report(gpus=[]),
    "gpus-unknown": lambda: report(gpus=None),
    "doubtful": lambda: report(
        workload("a", rank(0, [0], low_confidence="known by open files only"), rank(1, [1], unjudged="sockets unknown"))
    ),
    "empty": dict,
}
RECORDED: dict[str, Callable[[], Json]] = {
    f"host-{name}": partial(lambda name: json.loads(replay(HOSTS / name, "--json")), name) for name in recorded()
}
WIDTHS = (320, 420, 768, 1366, 1920)
AXE_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
FOLD = 768  # px: height of a common laptop's window

CUT_OFF = """() => [...document.querySelectorAll(".numbers *, .lane-names *, .who *, .chip, .node p, .frame *")]
  .filter(e => e.offsetParent && !e.closest(".strip"))
  .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth || e.getBoundingClientRect().right > innerWidth)
  .map(e => e.textContent)"""
OVERLAPS = """() => [...document.querySelectorAll(".rows .row")].filter(row => {
  const start = row.querySelector(".cell").getBoundingClientRect().left;
  return [...row.querySelectorAll(".lane-names span")].some(name => {
    const range = document.createRange();
    range.selectNodeContents(name);
    return range.getBoundingClientRect().right > start;
  });
}).map(row => row.textContent)"""


@contextmanager
def visit(browser: Browser, url: str, width: int, **options: str) -> Iterator[tuple[Page, list[str]]]:
    """The page at `url`, and what the console complains about while it is open."""
    page = browser.new_page(viewport={"width": width, "height": FOLD}, **options)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(url)
    yield page, complaints
    page.close()


@pytest.mark.parametrize("name", [*MACHINES, *RECORDED])
def test_quiet_and_within_every_window(browser: Browser, site: Site, name: str) -> None:
    document = RECORDED[name]() if name in RECORDED else MACHINES[name]()
    with visit(browser, site.put(name, render(document)), WIDTHS[0]) as (page, complaints):
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": FOLD})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(CUT_OFF) == []
            assert page.evaluate(OVERLAPS) == []
        assert complaints == []


@pytest.mark.parametrize("width", [420, 1366])
@pytest.mark.parametrize("name", MACHINES)
def test_accessible_in_both_themes(browser: Browser, site: Site, name: str, width: int) -> None:
    with visit(browser, site.put(name, render(MACHINES[name]())), width) as (page, _):
        page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text())
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            assert violations(page) == []
            picture(page, f"{name}-{width}-{theme}")


def violations(page: Page) -> list[str]:
    found = page.evaluate("rules => axe.run({runOnly: rules})", AXE_RULES)
    return [f"{v['id']}: {node['html'][:120]}" for v in found["violations"] for node in v["nodes"]]


def picture(page: Page, name: str) -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def test_the_first_command_is_above_the_fold(browser: Browser, site: Site) -> None:
    with visit(browser, site.put("fold", render(stored("two-socket"))), 1366) as (page, _):
        box = page.locator("pre").first.bounding_box()
        assert box is not None and box["y"] + box["height"] <= FOLD


def test_it_reads_without_javascript(browser: Browser, site: Site) -> None:
    url = site.put("plain", render(stored("two-socket")))
    page = browser.new_page(java_script_enabled=False)
    page.goto(url)
    assert page.locator("h1").inner_text().replace("\u00a0", " ") == "▲ 3 of 8 ranks run against the grain"
    assert page.locator(".rows .against").first.is_visible()
    page.close()


def test_forced_colours_keep_remote_apart_from_local(browser: Browser, site: Site) -> None:
    with visit(browser, site.put("forced", render(stored("two-socket"))), 1366, forced_colors="active") as (page, _):
        marks = [page.locator(f".rows .{name}").first for name in ("local", "remote", "against")]
        fills = {mark.evaluate("mark => getComputedStyle(mark).fill") for mark in marks}
        assert len(fills) == 3
        picture(page, "forced-colours")
