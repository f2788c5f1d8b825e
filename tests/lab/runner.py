"""Boots a guest, runs one command in it and says what came of it."""

import fcntl
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.lab import kernel as kernels
from tests.lab.initramfs import initramfs
from tests.lab.kernel import MODULES, Kernel
from tests.lab.qemu import DEVICES, command_line
from tests.lab.stand_in import stand_in
from tests.lab.topology import Topology

REPOSITORY = Path(__file__).resolve().parent.parent.parent
CGROUPS = ("v2", "v1", "hybrid")
TIMED_OUT = 124  # as timeout(1)
LAB_FAILED = 125  # as env(1): the command was never done
BOOTS = 3
"""An emulated CPU may stumble over an instruction that another one just patched (once in some fifty boots, QEMU 7.2:
int3 in a static key). A guest whose kernel panicked, or that ended before it began the command, is booted again."""
PASSED_ON = ("HOME", "LANG", "LC_ALL", "PATH")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """`exit_code` is the command's (128 + n when signal n killed it), TIMED_OUT or LAB_FAILED.

    `out` is the folder that the command knew as $LAB_OUT; `console` what the kernel and QEMU said.
    """

    exit_code: int
    stdout: str
    stderr: str
    out: Path
    console: str
    seconds: float

    def __str__(self) -> str:
        shown = {"stdout": self.stdout, "stderr": self.stderr, "console": self.console}
        tails = "".join(f"\n--- {name}\n{text[-2000:]}" for name, text in shown.items() if text)
        return f"exit code {self.exit_code} after {self.seconds:.1f} s{tails}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """A machine to run commands on; each run is a boot of its own, in a folder of its own below `folder`.

    `memory_nodes` are the NUMA nodes that are the memory of GPU 0, 1, … (GH200); without `gpu_module` the
    'nvidia' devices get their identity without the kernel module, as on a machine without a compiler. Unless `guest`
    the machine does not say that it is a virtual one.
    """

    topology: Topology
    folder: Path
    kernel: str = "6.1"
    cgroup: str = "v2"
    devices: tuple[str, ...] = ()
    memory_nodes: tuple[int, ...] = ()
    gpu_module: bool = True
    guest: bool = True
    append: str = ""
    timeout: float = 600.0
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(
        self, command: Sequence[str], *, cwd: Path = REPOSITORY, relay: Callable[[Path], None] | None = None
    ) -> Result:
        """Runs `command` as root in a fresh guest; only one guest runs at a time on this machine.

        `relay` is called with the job's folder, where stdout and stderr grow, while the guest runs.
        """
        job = Path(tempfile.mkdtemp(prefix="run", dir=self.folder))
        (job / "command").write_text(self._script(command, cwd))
        with _only_one():
            kernel = kernels.kernel(self.kernel)
            start = time.monotonic()
            for _ in range(BOOTS):
                _clear(job)
                timed_out = self._boot(kernel, job, lambda: relay(job) if relay else None)
                if timed_out or not _stumbled(job):
                    break
            seconds = time.monotonic() - start
        text = {name: (job / name).read_text(errors="replace") for name in ("stdout", "stderr", "console")}
        text["console"] += (job / "qemu").read_text(errors="replace")
        return Result(exit_code=_exit_code(job, timed_out), **text, out=job / "out", seconds=seconds)

    def python(self, *arguments: str) -> Result:
        """Runs this interpreter, with this checkout as the current folder."""
        return self.run([sys.executable, *arguments])

    def ask(self, *arguments: str) -> Any:
        """What a Python program prints as JSON in the guest. AssertionError, with all it said, where it fails."""
        result = self.python(*arguments)
        assert result.exit_code == 0, result
        return json.loads(result.stdout)

    def _script(self, command: Sequence[str], cwd: Path) -> str:
        passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        # a Python version manager's shims are scripts that take seconds on an emulated CPU
        passed_on["PATH"] = f"{Path(sys.executable).parent}:{passed_on['PATH']}"
        environment = passed_on | {"LAB_OUT": "/run/lab/out"} | dict(self.environment)
        exports = [f"export {name}={shlex.quote(value)}" for name, value in environment.items()]
        return "\n".join([*exports, f"cd {shlex.quote(str(cwd))} || exit", f"exec {shlex.join(command)}", ""])

    def _boot(self, kernel: Kernel, job: Path, relay: Callable[[], None]) -> bool:
        """Whether QEMU had to be killed at the end of `timeout`."""
        devices = {part.partition(":")[0] for device in self.devices for part in device.split("/")}
        unused = {module for device, module in DEVICES.items() if device not in devices}
        modules = [file for name in MODULES if name not in unused for file in kernel.modules[name]]
        gpu_module = stand_in(kernel) if self.gpu_module and "nvidia" in devices else None
        append = f"{self.append} lab_cgroup={self.cgroup}"
        if self.cgroup == "v2":
            append += " cgroup_no_v1=all"
        if self.memory_nodes:
            append += f" lab_memory_nodes={','.join(map(str, self.memory_nodes))}"
        with tempfile.NamedTemporaryFile(prefix="initramfs", dir=job) as initrd:
            initrd.write(initramfs(modules, gpu_module))
            initrd.flush()
            image = Path(initrd.name)
            arguments = command_line(self.topology, kernel, self.devices, job, image, append, guest=self.guest)
            return _supervise(arguments, job, self.timeout, relay)


def _clear(job: Path) -> None:
    shutil.rmtree(job / "out", ignore_errors=True)
    (job / "out").mkdir()
    (job / "started").unlink(missing_ok=True)
    for name in ("stdout", "stderr", "console"):
        (job / name).write_bytes(b"")


def _stumbled(job: Path) -> bool:
    return not (job / "started").exists() or b"Kernel panic" in (job / "console").read_bytes()


def _supervise(arguments: list[str], job: Path, timeout: float, relay: Callable[[], None]) -> bool:
    qemu = shutil.which("qemu-system-x86_64")
    if qemu is None:
        raise FileNotFoundError("needs qemu-system-x86_64 (Debian package qemu-system-x86)")
    end = time.monotonic() + timeout
    # the guest dies with its runner, however that ends
    command = ["setpriv", "--pdeathsig", "KILL", qemu, *arguments]
    with (job / "qemu").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            while process.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
                relay()
            return process.returncode is None
        finally:
            process.kill()
            process.wait()
            relay()


def _exit_code(job: Path, timed_out: bool) -> int:
    written = job / "exit_code"
    if written.exists() and written.read_text():
        return int(written.read_text())
    return TIMED_OUT if timed_out else LAB_FAILED


@contextmanager
def _only_one() -> Iterator[None]:
    """Emulation is heavy, and time limits hold only for a guest that has the machine to itself."""
    folder = kernels.cache()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
