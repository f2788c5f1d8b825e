"""The fixture `lab`: a machine of a named topology, on which a test runs what it likes."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.lab.apt import mirrors
from tests.lab.kernel import PACKAGES, cache
from tests.lab.runner import Lab
from tests.lab.topology import TOPOLOGIES

TOOLS = (
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("busybox", "busybox-static"),
    ("modinfo", "kmod"),
    ("zstd", "zstd"),
    ("setpriv", "util-linux"),
    ("apt-get", "apt"),
    ("numactl", "numactl"),
)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory, need_tool: Callable[[str, str], str]) -> Callable[..., Lab]:
    """`lab("2s2n", devices=("nvidia",)).ask("-m", "tests.lab.facts")`; the options are Lab's fields."""
    for program, package in TOOLS:
        need_tool(program, package)
    if not mirrors() and not all((cache() / name).is_dir() for name in PACKAGES):
        reason = "needs a Debian mirror among apt's sources (and apt-get update), for kernels"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)

    def machine(topology: str, **options: Any) -> Lab:
        folder = tmp_path_factory.mktemp("lab")
        return Lab(topology=TOPOLOGIES[topology], folder=folder, **options)

    return machine
