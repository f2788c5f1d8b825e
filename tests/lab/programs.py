"""What is built here to run in the guest: the workloads' engine, an NVML library for devices without a driver, and
Python's bytecode, which an emulated CPU would be long about and forget at the end."""

import compileall
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.nvml.build import NvmlShim
from tests.nvml.build import build as build_nvml

TESTS = Path(__file__).resolve().parent.parent
SOURCES = (TESTS.parent / "numa_exporter", TESTS / "lab", TESTS / "nvml")
ENGINE = Path(__file__).resolve().with_name("engine.c")
WEIGHTS_BYTES = 4 << 30


def programs(folder: Path) -> Mapping[str, str]:
    """Builds the two in `folder`, and makes a large sparse file; the environment in which a guest finds them.

    CalledProcessError where gcc fails.
    """
    for sources in SOURCES:
        compileall.compile_dir(sources, quiet=2)
    nvml = NvmlShim(library=build_nvml(folder), file=folder / "nvml", log=folder / "log")
    weights = folder / "weights"
    with weights.open("wb") as file:
        file.truncate(WEIGHTS_BYTES)
    return {**nvml.environment, "LAB_ENGINE": str(build_engine(folder)), "LAB_WEIGHTS": str(weights)}


def build_engine(folder: Path) -> Path:
    """Static, so that its address space is its own memory and little else."""
    program = folder / "engine"
    options = ["-std=c17", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-pthread"]
    subprocess.run(["gcc", *options, "-o", program, ENGINE], check=True)
    return program
