"""One headless Chromium for all browser tests (Debian's chromium; the extra `browser` for playwright and axe-core)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.site import Site, serve

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FLAGS = (
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="package")
def browser(need_tool: Callable[[str, str], str]) -> Iterator[Browser]:
    """Closed with the last test of this folder: while it is open this thread has a running event loop, for anybody."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("needs the extra `browser`")
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=need_tool("chromium", "chromium"), args=list(FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def site() -> Iterator[Site]:
    with serve() as started:
        yield started
