"""docs/install.md, done: what it says to type for bare metal gives an exporter that runs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from numa_exporter import __version__
from numa_exporter.cli.main import parser
from tests.deploy.chart import REPOSITORY, Object, container, pod_spec
from tests.deploy.conftest import unavailable
from tests.deploy.podman import rights

DOCUMENT = REPOSITORY / "docs" / "install.md"
BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "requirements.lock", "requirements-build.lock", "numa_exporter")


def commands() -> list[str]:
    """Lines of the section on systemd, of its two blocks."""
    (section,) = re.findall(r"^## systemd$(.*?)^## ", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    built, installed = re.findall(r"^```\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return [*built.splitlines(), *installed.splitlines()]


def test_wheels_are_made_once_and_installed_without_a_network(tmp_path: Path) -> None:
    for name in BUILT_FROM:
        (tmp_path / name).symlink_to(REPOSITORY / name)
    typed = [line for line in commands() if line.startswith(("python3", "build/", "/opt/"))]
    assert len(typed) == 7
    for line in typed:
        here = line.replace("/opt/numa-exporter", f"{tmp_path}/opt").replace("python3 ", f"{sys.executable} ")
        done = subprocess.run(["sh", "-euc", here], cwd=tmp_path, capture_output=True, text=True, check=False)
        if done.returncode and "/pip " in line and "--no-index" not in line:
            unavailable(f"needs PyPI: {done.stderr}")
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    told = subprocess.run([tmp_path / "opt/bin/numa-exporter", "--version"], capture_output=True, text=True, check=True)
    assert __version__ in told.stdout


def test_every_file_that_is_installed_is_there() -> None:
    files = [word for line in commands() for word in line.split() if word.startswith("deploy/")]
    assert len(files) == 3
    assert all((REPOSITORY / file).is_file() for file in files)


def test_one_container_has_the_rights_of_the_daemonset(rendered: list[Object]) -> None:
    (block,) = re.findall(r"^```\n(docker run .*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    words = shlex.split(block.replace("\\\n", " "))[2:]
    at = words.index("REGISTRY/numa-exporter:0.1.0")
    given, arguments = set(words[:at]), words[at + 1 :]
    pod = {*rights(pod_spec(rendered), container(rendered), Path("deploy/seccomp"))}
    # No file system in memory is podman's to refuse; times of day are told in UTC either way.
    assert pod - given == {"--read-only-tmpfs=false", "--env=TZ=UTC", "--memory=256m"}
    rest = {"--detach", "--name=numa-exporter", "--restart=unless-stopped", "--publish=10062:10062", "--runtime=nvidia"}
    assert given - pod == rest | {"--security-opt=apparmor=unconfined", "-m", "256m"}
    assert parser().parse_args(arguments).rootfs == "/host"
