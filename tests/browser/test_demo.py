"""The demo's own page, from its own server with its own headers: what a newcomer sees first."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deploy.demo import servers
from tests.browser.test_looks import WIDTHS, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A demo whose past has gone by: the drift is there."""
    folder = tmp_path_factory.mktemp("demo")
    port = servers.free_port()
    command = [str(Path(sys.executable).parent / "numa-exporter"), "demo", "--history", str(folder / "history.om")]
    command += ["--web.listen-address", f"127.0.0.1:{port}", "--log.level", "error"]
    with servers.Server(command, port, folder / "demo.log") as server:
        server.wait(seconds=300)
        yield server.url


def test_which_workload_is_wrong_why_and_what_to_type(browser: Browser, address: str) -> None:
    """Without scrolling: the number of bad ranks, each bad workload by name with its shares, and a link to the fix."""
    with visit(browser, f"{address}/", 1366) as (page, complaints):
        assert page.locator(".banner").inner_text().startswith("Simulated: no such machine exists.")
        assert page.locator("h1").inner_text().replace("\u00a0", " ") == "▲ 3 of 7 ranks run against the grain"
        told = page.locator("#verdict li").all_inner_texts()
        assert [line.split(":")[0].split("-")[0] for line in told] == ["inference/qwen", "inference/mixtral"]
        for line, link in zip(
            told, page.get_by_text("What to type", exact=True).locator("xpath=self::a").all(), strict=True
        ):
            assert "% of its CPU time" in line.replace("\u00a0", " ")
            link.click()
            target = page.locator(f"[id='{(link.get_attribute('href') or '')[1:]}']")
            assert target.locator("pre").first.is_visible()
            assert "--numa" in target.locator("pre").first.inner_text()  # the engine's own flag comes first
        assert complaints == []


def test_it_fits_every_window(browser: Browser, address: str) -> None:
    with visit(browser, f"{address}/", WIDTHS[0]) as (page, complaints):
        for width in range(320, 1921, 100):
            page.set_viewport_size({"width": width, "height": 768})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert complaints == []
