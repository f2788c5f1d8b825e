"""Whatever a person gets wrong: one clear line that names it, and exit status 2."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from numa_exporter.cli.main import main
from tests.agent.agent_process import COMMAND, NOBODY
from tests.conftest import REPOSITORY


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that is said."""
    try:
        status = main(arguments)
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else -1
    told = capsys.readouterr()
    assert (status, told.out) == (2, "")
    assert told.err.startswith("numa-exporter") and told.err.count("\n") == 1
    return told.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "required: VERB"),
        ("sreve", "invalid choice: 'sreve'"),
        ("serve --nope", "serve: unrecognized arguments: --nope; see numa-exporter serve --help"),
        ("serve --inter 5s", "unrecognized arguments: --inter"),
        ("serve --interval 0s", "--interval: expected a positive duration"),
        (f"serve --interval {'9' * 400}", "--interval: expected a duration from 1ms to a year"),
        ("serve --interval 0.0000001ms", "--interval: expected a duration from 1ms to a year"),
        ("report --window 999999999999999999999s", "--window: expected a duration from 1ms to a year"),
        ("serve --interval soon", "--interval: expected a positive duration"),
        ("serve --cpu-budget nan", "--cpu-budget: expected a positive number"),
        ("serve --max-series -3", "--max-series"),
        ("serve --log.level loud", "--log.level: invalid choice: 'loud'"),
        ("serve --web.listen-address 10062", "--web.listen-address: expected [HOST]:PORT, found '10062'"),
        ("serve --web.listen-address :99999", "--web.listen-address: expected [HOST]:PORT"),
        ("serve --web.listen-address :²", "--web.listen-address: expected [HOST]:PORT"),
        ("serve --threshold.memory many", "--threshold.memory: expected a share from 0 to 1"),
        ("serve --threshold.memory 20", "--threshold.memory: expected a share from 0 to 1 (0.2 is 20 %), found '20'"),
        ("serve --threshold.irq-remote nan", "--threshold.irq-remote: expected a share from 0 to 1"),
        ("serve --threshold.memory-bytes many", "--threshold.memory-bytes: expected a number"),
        ("serve --source.memory yes", "unrecognized arguments: yes"),
        ("report --looks 0", "--looks: expected a positive whole number"),
        ("report --pid init", "--pid: expected a positive whole number"),
        ("report --json --metrics", "not allowed with argument --json"),
        ("report --workload.exclude (", "--workload.exclude: ("),
        ("report --gpu.min-holding 3XB", "--gpu.min-holding: expected a number"),
        ("report --path.rootfs /no/such", "--path.rootfs: /no/such: No such file or directory"),
        ("report --path.sysfs /etc/passwd", "--path.sysfs: /etc/passwd: Not a directory"),
        ("report --replay /no/such", "--replay: /no/such: No such file or directory"),
        ("report --replay /etc/passwd", "--replay: /etc/passwd: not a bundle"),
        ("report --intent.file /no/such", "--intent.file: /no/such: No such file or directory"),
        ("topo --against /no/such", "--against: /no/such: No such file or directory"),
        (f"topo --against {REPOSITORY}/README.md", "README.md:1: expected a table of nvidia-smi topo -m or rocm-smi "),
        ("snapshot", "required: -o/--output"),
        ("snapshot -o /no/such/bundle", "--output: /no/such: No such file or directory"),
    ],
)
def test_one_line_names_what_is_wrong(arguments: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in refused(capsys, *arguments.split())


def test_a_process_without_a_gpu_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("report", "--looks", "1", "--pid", str(os.getpid()), "--no-source.memory")
    assert f"--pid: {os.getpid()}: belongs to no workload" in refused(capsys, *arguments)


@contextmanager
def port_in_use() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def run(*arguments: str, command: list[str] = COMMAND) -> tuple[int, str]:
    """Status and standard error; standard output must be silent."""
    done = subprocess.run(
        [*command, *arguments], cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


def test_a_port_in_use() -> None:
    with port_in_use() as port:
        status, told = run("serve", "--web.listen-address", f"127.0.0.1:{port}")
    line = (
        f"numa-exporter serve: --web.listen-address: 127.0.0.1:{port}: Address already in use; "
        f"choose another port: --web.listen-address=127.0.0.1:{port + 1}\n"
    )
    assert (status, told) == (2, line)


@pytest.mark.parametrize("address", ["192.0.2.1:0", "no-such-host.invalid:0"])
def test_an_address_that_is_not_ours(address: str) -> None:
    status, told = run("serve", "--web.listen-address", address)
    assert status == 2 and told.startswith(f"numa-exporter serve: --web.listen-address: {address}: ")
    assert told.count("\n") == 1


@pytest.mark.parametrize("text", [None, "tls: {}", "basic_auth_users: {a: plain}", "a: ["])
def test_a_web_config_that_is_none(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "web.yml"
    if text is not None:
        file.write_text(text)
    status, told = run("serve", "--web.listen-address", "127.0.0.1:0", "--web.config.file", str(file))
    assert status == 2 and told.startswith(f"numa-exporter serve: --web.config.file: {file}: ")
    assert told.count("\n") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_root_that_this_user_may_not_read(tmp_path: Path) -> None:
    closed = tmp_path / "root"
    closed.mkdir(mode=0o700)
    status, told = run("report", "--path.rootfs", str(closed), command=NOBODY)
    assert (status, told) == (2, f"numa-exporter report: --path.rootfs: {closed}: Permission denied\n")


def test_a_reader_that_goes_away_is_no_error_of_ours() -> None:
    report = subprocess.Popen(
        [*COMMAND, "report", "--looks", "1"], cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert report.stdout is not None and report.stderr is not None
    report.stdout.close()
    assert report.stderr.read() == b""
    report.wait(60)


@pytest.mark.parametrize("address", ["a..b:1", "[::1:1", "::1:1", "a\nb:1", ":" + "9" * 5000])
def test_an_address_that_is_none(address: str) -> None:
    status, told = run("serve", "--web.listen-address", address)
    assert status == 2 and told.startswith("numa-exporter serve: --web.listen-address: ")
    assert told.count("\n") == 1


def test_a_full_disk_behind_standard_output_is_one_line() -> None:
    command = [sys.executable, "-m", "numa_exporter.cli.main", "report", "--json", "--looks", "1"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stderr == "numa-exporter report: standard output: No space left on device\n"
