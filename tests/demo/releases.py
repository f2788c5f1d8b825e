"""Prometheus and Alertmanager in two releases: what is installed here, and Debian's newest, which runs here unmodified.

The newest is fetched once, unpacked outside the tree and never installed; delete the folder to renew it.
"""

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.demo.servers import Programs
from tests.lab.apt import Archive

NEWEST = "sid"  # 3.x; Debian 12 has 2.42
RELEASES = ("installed", NEWEST)
PACKAGES = ("prometheus", "promtool", "prometheus-alertmanager")
"""Each with a program of its name."""


@pytest.fixture(scope="session", params=RELEASES)
def programs(request: pytest.FixtureRequest, need_tool: Callable[[str, str], str]) -> Programs:
    """The servers and promtool of a release."""
    if request.param == "installed":
        return Programs(
            prometheus=need_tool("prometheus", "prometheus"),
            promtool=need_tool("promtool", "prometheus"),
            alertmanager=need_tool("prometheus-alertmanager", "prometheus-alertmanager"),
        )
    try:
        folder = unpacked(request.param)
    except (OSError, subprocess.CalledProcessError) as error:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"needs apt and Debian's archive of {NEWEST}: {error}")
    return Programs(
        prometheus=str(folder / "prometheus"),
        promtool=str(folder / "promtool"),
        alertmanager=str(folder / "prometheus-alertmanager"),
    )


@pytest.fixture(scope="session")
def promtool(programs: Programs) -> str:
    return programs.promtool


def unpacked(release: str) -> Path:
    """The folder with the binaries of a Debian release."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numa-exporter-prometheus"
    home = cache / release
    if not home.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="new-", dir=cache) as scratch:
            binaries = _fetched(release, Path(scratch))
            try:
                binaries.rename(home)
            except OSError:  # whole or not at all; another test run may have been first
                if not home.is_dir():
                    raise
    return home


def _fetched(release: str, scratch: Path) -> Path:
    archive = Archive(release, scratch / "apt", security=False)
    for package in PACKAGES:
        archive.unpack(package, scratch / "root")
    binaries = scratch / "root" / "usr" / "bin"
    for file in binaries.iterdir():
        if file.name not in PACKAGES:
            file.unlink()
    return binaries
