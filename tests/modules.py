"""Python packages that only some tests want."""

import os
from importlib import import_module
from typing import Any

import pytest


def need_module(name: str, *, reason: str = "make test installs it") -> Any:
    """The module; without it a test fails in CI and is skipped on a user's machine."""
    try:
        return import_module(name)
    except ImportError:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{name}: {reason}")
