"""The fixture `lab`: a machine of a named topology, on which a test runs what it likes. One guest runs at a time."""

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pytest

from tests.lab.apt import mirrors
from tests.lab.kernel import PACKAGES, cache
from tests.lab.programs import programs
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
    ("gcc", "gcc"),
)


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("lab"):
            item.add_marker(pytest.mark.xdist_group("lab"))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How long the guests took: `make lab` is to stay within minutes."""
    reports = [
        report
        for kind in ("passed", "failed", "error")
        for report in terminalreporter.stats.get(kind, ())
        if getattr(report, "nodeid", "").startswith("tests/lab/")
    ]
    # what a fixture booted was booted in the setup of its first test, which is in no category of its own
    setups = [report for report in terminalreporter.stats.get("", ()) if report.nodeid.startswith("tests/lab/")]
    if reports:
        seconds = sum(report.duration for report in (*reports, *setups))
        terminalreporter.write_line(f"lab: {len(reports)} tests in {seconds:.0f} s")


@pytest.fixture(scope="session")
def lab(
    tmp_path_factory: pytest.TempPathFactory,
    need_tool: Callable[[str, str], str],
) -> Callable[..., Lab]:
    """`lab("2s2n", devices=("nvidia",)).ask("-m", "tests.lab.facts")`; the options are Lab's fields.

    The NVML shim and the workloads' engine are built here and used there.
    """
    for program, package in TOOLS:
        need_tool(program, package)
    if not mirrors() and not all((cache() / name).is_dir() for name in PACKAGES):
        reason = "needs a Debian mirror among apt's sources (and apt-get update), for kernels"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)

    built = programs(tmp_path_factory.mktemp("programs"))

    def machine(topology: str, environment: Mapping[str, str] = MappingProxyType({}), **options: Any) -> Lab:
        folder = tmp_path_factory.mktemp("lab")
        return Lab(topology=TOPOLOGIES[topology], folder=folder, environment={**built, **environment}, **options)

    return machine
