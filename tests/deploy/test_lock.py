"""What the image installs: pinned, with hashes, for both processors, and as pyproject.toml wants it."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement

from tests.deploy.chart import REPOSITORY
from tests.modules import need_module

LOCKS = ("requirements.lock", "requirements-build.lock")
PYPROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())


def entries(name: str) -> list[str]:
    """Requirements with their hashes, one string each."""
    text = (REPOSITORY / name).read_text()
    return [entry for entry in re.sub(r"\\\n\s*", "", text).splitlines() if not entry.startswith("#")]


def pinned(name: str) -> dict[str, str]:
    requirements = (Requirement(entry.partition(" --hash")[0]) for entry in entries(name))
    environment = default_environment() | {"python_full_version": "3.13.5", "python_version": "3.13"}
    kept = (wanted for wanted in requirements if wanted.marker is None or wanted.marker.evaluate(environment))
    return {wanted.name: str(wanted.specifier).removeprefix("==") for wanted in kept}


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("requirements.lock", PYPROJECT["project"]["dependencies"]),
        ("requirements-build.lock", PYPROJECT["build-system"]["requires"]),
    ],
)
def test_the_lock_is_of_this_pyproject(lock: str, wanted: list[str]) -> None:
    held = pinned(lock)
    for requirement in map(Requirement, wanted):
        assert requirement.name in held, f"{lock} lacks {requirement.name}: make lock"
        assert requirement.specifier.contains(held[requirement.name]), f"{lock}: {requirement}: make lock"


@pytest.mark.parametrize("lock", LOCKS)
def test_everything_has_hashes_and_nothing_names_a_registry(lock: str) -> None:
    assert all(re.search(r"==\S+ .*--hash=sha256:[0-9a-f]{64}", entry) for entry in entries(lock))
    assert "://" not in (REPOSITORY / lock).read_text()


@pytest.mark.parametrize("processor", ["x86_64", "aarch64"])
def test_there_are_wheels_for_both_processors(processor: str, tmp_path: Path) -> None:
    """So the image needs no compiler. Resolved, not installed."""
    need_module("uv", reason="needs uv (make test installs it)")
    for lock in LOCKS:
        command = [sys.executable, "-m", "uv", "pip", "install", "--dry-run", "--require-hashes", "--only-binary=:all:"]
        command += [f"--python-platform={processor}-manylinux_2_28", "--python-version=3.13", f"--target={tmp_path}"]
        done = subprocess.run(
            [*command, "--requirements", lock], cwd=REPOSITORY, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_only_what_the_dockerfile_copies_is_sent_to_a_builder() -> None:
    copied: set[str] = set()
    for line in (REPOSITORY / "Dockerfile").read_text().splitlines():
        if line.startswith("COPY ") and "--from" not in line:
            copied.update(line.split()[1:-1])
    sent = (REPOSITORY / ".dockerignore").read_text().splitlines()
    assert {line[1:] for line in sent if line.startswith("!")} == copied
    assert "*" in sent
