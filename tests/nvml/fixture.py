"""The fixture `nvml_shim`: a libnvidia-ml.so.1 of the test's own, without a machine until the test writes one."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.nvml.build import NvmlShim, build


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory, need_tool: Callable[[str, str], str]) -> Callable[..., Path]:
    """Builds the shim once per set of withheld functions."""
    need_tool("gcc", "gcc")
    built: dict[tuple[str, ...], Path] = {}

    def library(*without: str) -> Path:
        if without not in built:
            built[without] = build(tmp_path_factory.mktemp("nvml"), without)
        return built[without]

    return library


@pytest.fixture
def nvml_shim(tmp_path: Path, nvml_library: Callable[..., Path]) -> NvmlShim:
    return NvmlShim(library=nvml_library(), file=tmp_path / "nvml.txt", log=tmp_path / "nvml.log")
