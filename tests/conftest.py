"""Fixtures shared by all tests: where the real-world data lies, and what a missing tool means."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ("tests.lab.fixture", "tests.nvml.fixture", "tests.demo.releases", "tests.demo.world")

# A loaded machine is not a fault of the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real machines' files beside the checkout; its tests are skipped where it is absent."""
    folder = REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("needs the folder of real-world samples (../shared/data)")
    return folder


@pytest.fixture(scope="session")
def need_tool() -> Callable[[str, str], str]:
    """Path of an external program; without it a test fails in CI and is skipped on a user's machine."""

    def find(program: str, package: str) -> str:
        path = shutil.which(program)
        if path is None:
            message = f"needs {program} (Debian package {package})"
            if os.environ.get("CI"):
                pytest.fail(message)
            pytest.skip(message)
        return path

    return find
