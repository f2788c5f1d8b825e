"""What the lab promises to whoever runs a command in it."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.lab.runner import LAB_FAILED, REPOSITORY, TIMED_OUT, Lab

pytestmark = pytest.mark.lab
Machine = Callable[..., Lab]
SMALL = "2s2n-small"


def test_streams_arguments_environment_and_folder(lab: Machine) -> None:
    """All in one boot: output of some size on both streams, awkward words, a folder that comes back, exit code."""
    words = ["a b", "c'd", 'e"f', "g\nh", "ü$HOME", "*", ""]
    script = """
printf '%s|' "$@"
echo "$GREETING from $PWD" >&2
head -c 5000000 /dev/zero | tr '\\0' x
echo brought home > "$LAB_OUT/note"
exit 42
"""
    machine = lab(SMALL, environment={"GREETING": "q u x"})
    result = machine.run(["bash", "-c", script, "bash", *words])
    assert result.exit_code == 42, result
    assert result.stdout == "".join(f"{word}|" for word in words) + "x" * 5_000_000
    assert result.stderr == f"q u x from {REPOSITORY}\n"
    assert (result.out / "note").read_text() == "brought home\n"


def test_the_root_is_this_machines_and_stays_as_it_is(lab: Machine) -> None:
    """The tests' interpreter with its packages, the checkout and the tools are there; what is written is not kept."""
    code = """
import pathlib, pytest, shutil
import numa_exporter
pathlib.Path("/etc/numa-lab-was-here").write_text("x")
pathlib.Path(numa_exporter.__file__).with_name("numa-lab-was-here").write_text("x")
assert shutil.which("numactl") and shutil.which("numastat")
mounts = [pathlib.Path(f"/proc/{pid}/mountinfo").read_text() for pid in (1, "self")]
assert mounts[0] == mounts[1]  # an exporter in a container reads PID 1's
print(numa_exporter.__file__, pytest.__version__)
"""
    result = lab(SMALL).python("-c", code)
    assert result.exit_code == 0, result
    assert result.stdout.split() == [str(REPOSITORY / "numa_exporter" / "__init__.py"), pytest.__version__]
    left = subprocess.run(
        ["find", "/etc", REPOSITORY / "numa_exporter", "-name", "numa-lab*"], check=False, capture_output=True
    )
    assert left.stdout == b""


@pytest.mark.parametrize(
    ("command", "code", "stderr"),
    [(["bash", "-c", "kill -9 $$"], 137, ""), (["/no/such/command"], 127, "No such file")],
)
def test_exit_codes_are_a_shells(lab: Machine, command: list[str], code: int, stderr: str) -> None:
    result = lab(SMALL).run(command)
    assert result.exit_code == code, result
    assert stderr in result.stderr


def test_a_command_that_never_ends_is_killed_and_its_output_kept(lab: Machine) -> None:
    result = lab(SMALL, timeout=25).run(["bash", "-c", "echo early; echo soon >&2; sleep 1000"])
    assert result.exit_code == TIMED_OUT, result
    assert (result.stdout, result.stderr) == ("early\n", "soon\n")


def test_a_panic_is_the_labs_failure_and_shown(lab: Machine) -> None:
    result = lab(SMALL).run(["bash", "-c", "echo c > /proc/sysrq-trigger"])
    assert result.exit_code == LAB_FAILED, result
    assert "Kernel panic" in result.console


def test_left_over_children_do_not_hold_the_guest(lab: Machine) -> None:
    result = lab(SMALL).run(["bash", "-c", "sleep 1000 & echo done"])
    assert (result.exit_code, result.stdout) == (0, "done\n"), result


def test_by_hand(lab: Machine) -> None:
    lab(SMALL)  # skips where the tools are missing
    command = [
        sys.executable,
        "-m",
        "tests.lab",
        SMALL,
        "--",
        "bash",
        "-c",
        "echo $1; echo err >&2; exit 3",
        "bash",
        "--",
    ]
    result = subprocess.run(command, cwd=REPOSITORY, check=False, capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (3, "--\n", "err\n")


@pytest.mark.parametrize("arguments", [[], ["no-such-topology", "--", "true"], ["2s2n"], ["-k", "2.4", "2s2n", "true"]])
def test_wrong_use(arguments: list[str]) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "tests.lab", *arguments], cwd=REPOSITORY, check=False, capture_output=True
    )
    assert result.returncode == 2
    assert b"usage:" in result.stderr
