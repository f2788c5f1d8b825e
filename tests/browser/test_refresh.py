"""The refresh script, on a clock that the test turns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from numa_exporter.page import render
from tests.browser.site import Site
from tests.page.reports import stored

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("browser")]

SECONDS = 15


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """The two-socket machine, open."""
    opened = browser.new_page(viewport={"width": 1366, "height": 768})
    opened.clock.install()
    opened.goto(site.put("live", render(stored("two-socket"))))
    yield opened
    opened.close()


def refresh(page: Page) -> None:
    """One turn of the clock, and the answer taken in."""
    with page.expect_response("**/live"):
        page.clock.run_for(SECONDS * 1000)


def words(page: Page, selector: str) -> str:
    return (page.locator(selector).text_content() or "").replace("\u00a0", " ")


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.id || document.activeElement.parentElement.id"))


def test_focus_and_open_details_survive(page: Page, site: Site) -> None:
    page.locator("details summary").nth(1).click()
    chip = page.locator(".chip.bad").nth(1)
    chip.focus()
    where = focused(page)
    page.evaluate("document.querySelector('main').firstChild.dataset.old = 'yes'")
    refresh(page)
    page.wait_for_function("!document.querySelector('[data-old]')")
    assert page.locator("details[open]").count() == 1
    assert focused(page) == where != ""
    assert page.locator("#status").inner_text() == ""  # nothing new, nothing said


def test_focus_on_a_summary_survives(page: Page) -> None:
    page.locator("details summary").nth(2).focus()
    where = focused(page)
    page.evaluate("document.querySelector('main').firstChild.dataset.old = 'yes'")
    refresh(page)
    page.wait_for_function("!document.querySelector('[data-old]')")
    assert focused(page) == where != ""
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_a_new_verdict_is_shown_and_spoken(page: Page, site: Site) -> None:
    site.put("live", render(stored("healthy")))
    refresh(page)
    page.wait_for_function("document.getElementById('status').textContent")
    assert words(page, "h1") == words(page, "#status") == "All 4 ranks run with the grain"


def test_nothing_moves_under_a_selection(page: Page, site: Site) -> None:
    page.evaluate("getSelection().selectAllChildren(document.querySelector('pre'))")
    site.put("live", render(stored("healthy")))
    page.clock.run_for(3 * SECONDS * 1000)
    assert "against the grain" in page.locator("h1").inner_text()
    page.evaluate("getSelection().removeAllRanges()")
    refresh(page)
    page.wait_for_function("document.querySelector('h1').textContent.startsWith('All')")


def test_another_machine_brings_its_own_columns(page: Page, site: Site) -> None:
    site.put("live", render(stored("nps4")))
    with page.expect_navigation():
        page.clock.run_for(SECONDS * 1000)
    assert page.locator(".head .node").count() == 8


def test_an_agent_that_is_gone_is_told_after_two_misses(page: Page, site: Site) -> None:
    del site.pages["live"]
    refresh(page)
    assert page.locator("#as-of").inner_text() == "As of 12:00:00 UTC"
    refresh(page)
    page.wait_for_function("document.getElementById('as-of').textContent.startsWith('No answer')")
    assert page.locator("#as-of").inner_text() == "No answer from the agent: this page is old."
    site.put("live", render(stored("two-socket")))
    refresh(page)
    page.wait_for_function("document.getElementById('as-of').textContent.startsWith('As of')")
