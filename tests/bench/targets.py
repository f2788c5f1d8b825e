"""Processes to be looked at: small C programs, built where they are needed."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tests.bench.benchmark import UnableError

SOURCES = Path(__file__).resolve().parent
MIB = 1 << 20


@cache
def built(name: str) -> str:
    """The program of tests/bench/NAME.c."""
    if shutil.which("cc") is None:
        raise UnableError("needs a C compiler (Debian package gcc)")
    program = Path(tempfile.mkdtemp(prefix="bench-")) / name
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-o", program, SOURCES / f"{name}.c"], check=True)
    return str(program)


@contextmanager
def running(name: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """The program while the block runs, once it is ready."""
    command = [built(name), *map(str, arguments)]
    with subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise UnableError(f"{' '.join(command)} could not get its memory")
            yield process
        finally:
            process.kill()


def available_bytes() -> int:
    """MemAvailable."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
