"""The bundle's file: whole or not at all, and nothing beside it."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from numa_exporter.bundle.archive import unpack
from numa_exporter.cli.errors import UsageError
from numa_exporter.cli.main import main
from numa_exporter.cli.snapshot import write


def test_it_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    file = tmp_path / "b.tar.gz"
    for data in (b"old", b"new"):
        write(str(file), data)
        assert file.read_bytes() == data
    assert os.listdir(tmp_path) == ["b.tar.gz"]


def test_a_full_disk_leaves_the_old_one_and_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "b.tar.gz"
    write(str(file), b"old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match=r"b\.tar\.gz: No space left on device"):
        write(str(file), b"new")
    assert (file.read_bytes(), os.listdir(tmp_path)) == (b"old", ["b.tar.gz"])


def test_an_interrupt_leaves_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(str(tmp_path / "b.tar.gz"), b"new")
    assert os.listdir(tmp_path) == []


def test_a_link_keeps_pointing_where_it_does(tmp_path: Path) -> None:
    folder, link = tmp_path / "elsewhere", tmp_path / "latest.tar.gz"
    folder.mkdir()
    link.symlink_to(folder / "b.tar.gz")
    write(str(link), b"new")
    assert link.is_symlink()
    assert ((folder / "b.tar.gz").read_bytes(), os.listdir(folder)) == (b"new", ["b.tar.gz"])


def test_a_planted_link_under_the_parts_name_is_not_written_through(tmp_path: Path) -> None:
    """In /tmp anybody can lay it there."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / f"b.tar.gz.{os.getpid()}.part").symlink_to(victim)
    with pytest.raises(UsageError, match="File exists"):
        write(str(tmp_path / "b.tar.gz"), b"new")
    assert victim.read_bytes() == b"precious"


def test_a_dash_is_standard_output() -> None:
    """The way out of a pod, whose root is read-only: what is said goes to standard error."""
    command = [sys.executable, "-m", "numa_exporter.cli.main", "snapshot", "-o", "-", "--window", "1ms"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert len(unpack(done.stdout, "standard output").frames) == 3
    assert done.stderr.decode().startswith(f"-: 3 frames, {len(done.stdout)} bytes. ")


def test_a_terminal_gets_no_bundle(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["snapshot", "-o", "-"]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert "standard output is a terminal; redirect it" in told.err


def test_a_folder_that_may_not_be_written_to(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert main(["snapshot", "-o", str(tmp_path / "b.tar.gz")]) == 2
    said = f"--output: {tmp_path}: cannot be written; -o - writes to standard output"
    assert capsys.readouterr().err == f"numa-exporter snapshot: {said}\n"
