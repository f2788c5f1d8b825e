"""The unit of bare metal: systemd's own opinion of it, and the exporter under its rights."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from numa_exporter.cli.main import parser
from tests.deploy.chart import REPOSITORY
from tests.deploy.victim import ANON
from tests.permissions import Rights, Scene

FOLDER = REPOSITORY / "deploy" / "systemd"
UNIT = FOLDER / "numa-exporter.service"
CONFINE = REPOSITORY / "tests" / "deploy" / "confine.py"


def settings(name: str) -> list[str]:
    """Values of a setting of the unit, in order."""
    return re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.MULTILINE)


@pytest.fixture
def analyze(need_tool: Callable[[str, str], str]) -> str:
    return need_tool("systemd-analyze", "systemd")


def test_systemd_can_load_it(analyze: str, tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    # what is installed nowhere cannot be verified, so another program stands in
    unit.write_text(UNIT.read_text().replace("/opt/numa-exporter/bin/numa-exporter", "/bin/echo"))
    done = subprocess.run([analyze, "verify", "--man=no", unit], capture_output=True, text=True, check=False)
    ours = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert ours == []


def test_exposure_stays_low(analyze: str) -> None:
    """systemd's scale goes from 0 to 100 here; a unit without hardening has 96."""
    done = subprocess.run(
        [analyze, "security", "--offline=true", "--threshold=27", "--no-pager", UNIT],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_sysusers_makes_the_user_that_the_unit_runs_as(need_tool: Callable[[str, str], str], tmp_path: Path) -> None:
    target = tmp_path / "usr" / "lib" / "sysusers.d" / "numa-exporter.conf"
    target.parent.mkdir(parents=True)
    (tmp_path / "etc").mkdir()
    target.write_text((FOLDER / "numa-exporter.sysusers").read_text())
    subprocess.run([need_tool("systemd-sysusers", "systemd"), f"--root={tmp_path}"], check=True, capture_output=True)
    users = [line.split(":")[0] for line in (tmp_path / "etc" / "passwd").read_text().splitlines()]
    assert users == settings("User") == settings("Group")


def test_the_exporter_takes_the_flags_of_the_example() -> None:
    text = (FOLDER / "numa-exporter.default").read_text()
    # One line, commented ones included: of two that a person uncomments the first would be lost without a word.
    (flags,) = re.findall(r'^#?\s*NUMA_EXPORTER_FLAGS="(.*)"$', text, re.MULTILINE)
    further = re.findall(r"^#\s+(--\S+)", text, re.MULTILINE)
    assert len(further) == 2
    assert parser().parse_args(["serve", *flags.split(), *further]).verb == "serve"


def test_no_limit_that_could_stop_a_reader_in_a_workloads_lock() -> None:
    assert not settings("CPUQuota") and not settings("Nice") and not settings("CPUWeight")
    assert settings("MemoryMax") == ["256M"]


def filtered(analyze: str) -> set[str]:
    """Names that SystemCallFilter= leaves, by systemd's own groups."""

    def members(word: str) -> set[str]:
        if not word.startswith("@"):
            return {word}
        shown = subprocess.run([analyze, "syscall-filter", word], capture_output=True, text=True, check=True).stdout
        words = [line.strip() for line in shown.splitlines()[1:]]
        return {name for word in words if word and word[0] != "#" for name in members(word)}

    allowed: set[str] = set()
    for line in settings("SystemCallFilter"):
        for word in line.removeprefix("~").split():
            if line.startswith("~"):
                allowed -= members(word)
            else:
                allowed |= members(word)
    return allowed


SETTERS = {"ioprio_set", "mbind", "migrate_pages", "set_mempolicy", "setpriority", "setrlimit"}
"""With sched_set*: what changes a placement, a priority or a limit."""


def test_of_what_changes_placement_only_the_question_is_left(analyze: str) -> None:
    left = filtered(analyze)
    assert not left & SETTERS
    assert not [name for name in left if name.startswith("sched_set")]
    # Arguments cannot be compared here; docs/permissions.md says what that leaves.
    assert "move_pages" in left


@pytest.mark.xdist_group("someone")
@pytest.mark.usefixtures("libseccomp")
def test_the_exporter_reads_everything_with_the_rights_of_the_unit(
    analyze: str, someone: Scene, tmp_path: Path
) -> None:
    (capabilities,) = settings("AmbientCapabilities")
    assert [capabilities] == settings("CapabilityBoundingSet")
    rights = Rights(name="unit", uid=65534, capabilities=tuple(capabilities.replace("CAP_", "").split()))
    profile = tmp_path / "filter.json"
    rule = {"action": "SCMP_ACT_ALLOW", "names": sorted(filtered(analyze))}
    architectures = ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"]
    profile.write_text(json.dumps({"defaultErrnoRet": 1, "architectures": architectures, "syscalls": [rule]}))

    def look(method: str) -> tuple[str, int]:
        report = ("-m", "numa_exporter.cli.main", "report", "--json", "--looks=1", f"--memory.method={method}")
        command = [*rights.command(), sys.executable, CONFINE, profile, "--", sys.executable, *report]
        done = subprocess.run(
            command, env=someone.environment, capture_output=True, text=True, check=False, cwd=REPOSITORY
        )
        told = json.loads(done.stdout)
        assert {name for name, source in told["sources"].items() if source["up"] is False} == set(), done.stderr
        (rank,) = told["workloads"][0]["ranks"]
        return rank["mapped_method"], sum(rank["mapped"]["anon"].values())

    for method in ("walk", "sample"):
        told, anon = look(method)
        assert told == method
        assert anon == pytest.approx(ANON, rel=0.2)
