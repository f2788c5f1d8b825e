"""Whatever standard output is, whatever is written to it, and whenever a person presses Ctrl-C."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from numa_exporter.cli.main import main
from tests.agent.agent_process import COMMAND
from tests.builders import placed, sample, two_socket
from tests.conftest import REPOSITORY

BUNDLE = str(REPOSITORY / "tests/hosts/two-sockets-well/bundle.tar.gz")


def said(*arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(
        [*COMMAND, *arguments, "--replay", BUNDLE],
        cwd=REPOSITORY,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == b""
    return done


@pytest.mark.parametrize("arguments", [("report",), ("report", "--json"), ("topo",)])
def test_a_closed_standard_output_is_nobodys(arguments: tuple[str, ...]) -> None:
    expected = said(*arguments).returncode
    command = ["sh", "-c", 'exec "$@" >&-', "sh", *COMMAND, *arguments, "--replay", BUNDLE]
    done = subprocess.run(command, cwd=REPOSITORY, stderr=subprocess.PIPE, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (expected, b"")


def test_a_locale_without_our_characters_gets_question_marks() -> None:
    whole = said("report", environment={"PYTHONIOENCODING": "utf-8"})
    plain = said("report", environment={"PYTHONIOENCODING": "ascii"})
    text = whole.stdout.decode()
    assert not text.isascii(), "or there is nothing to try"
    assert plain.stdout.decode() == "".join(letter if letter.isascii() else "?" for letter in text)
    assert plain.returncode == whole.returncode


def test_an_interrupt_while_a_verb_is_imported_is_no_trace() -> None:
    program = f"""
import os, signal, sys
from importlib.abc import MetaPathFinder
class Interrupting(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "numa_exporter.cli.serve":
            os.kill(os.getpid(), {int(signal.SIGINT)})
sys.meta_path.insert(0, Interrupting())
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job has it ignored
from numa_exporter.cli.main import main
sys.exit(main(["serve"]))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_a_device_of_somebody_elses_tree_does_not_write_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = placed(sample(two_socket(1))).machine
    assert machine is not None
    evil = tuple(replace(path, peer="nic\x1b]0;owned\x07") for path in machine.paths)
    report = SimpleNamespace(placement=SimpleNamespace(machine=replace(machine, paths=evil)))
    monkeypatch.setattr("numa_exporter.cli.topo.Looker.look", lambda _: report)
    assert main(["topo", "--path.rootfs", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "\x1b" not in told and "\x07" not in told
    assert r"nic\x1b]0;owned\x07" in told


def test_nor_does_what_it_is_refused_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "topo\x1b[2J.txt"
    assert main(["topo", "--against", str(table)]) == 2
    assert capsys.readouterr().err == (
        rf"numa-exporter topo: --against: {tmp_path}/topo\x1b[2J.txt: No such file or directory" + "\n"
    )
