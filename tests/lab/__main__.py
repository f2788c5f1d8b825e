"""The lab by hand: boots a machine, runs a command there, shows its output as it comes and exits as it did."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import BinaryIO

from tests.lab.kernel import PACKAGES
from tests.lab.qemu import DEVICES
from tests.lab.runner import CGROUPS, LAB_FAILED, TIMED_OUT, Lab
from tests.lab.topology import TOPOLOGIES


def main() -> int:
    # split here: argparse would also swallow a "--" of the command's own
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    command = words[end + 1 :]
    parser = _parser()
    options = parser.parse_args(words[:end])
    if not command:
        parser.error("the command is missing: TOPOLOGY -- COMMAND")
    with tempfile.TemporaryDirectory(prefix="numa-lab-") as folder:
        lab = Lab(
            topology=TOPOLOGIES[options.topology],
            folder=Path(folder),
            kernel=options.kernel,
            cgroup=options.cgroup,
            devices=tuple(options.devices.split(",")) if options.devices else (),
            memory_nodes=tuple(int(node) for node in options.memory_nodes.split(",") if node),
            append=options.append,
            timeout=options.timeout,
            environment=dict(pair.split("=", 1) for pair in options.environment),
        )
        result = lab.run(command, cwd=Path.cwd(), relay=Relay())
        if options.output:
            shutil.copytree(result.out, options.output, dirs_exist_ok=True)
        if options.verbose or result.exit_code in (TIMED_OUT, LAB_FAILED):
            print(f"lab: exit code {result.exit_code} after {result.seconds:.1f} s", file=sys.stderr)
            print(result.console, file=sys.stderr, end="")
        return result.exit_code


class Relay:
    """Copies what a job's output files have gained to our own standard streams."""

    def __init__(self) -> None:
        self._done = {"stdout": 0, "stderr": 0}

    def __call__(self, job: Path) -> None:
        streams: dict[str, BinaryIO] = {"stdout": sys.stdout.buffer, "stderr": sys.stderr.buffer}
        for name, stream in streams.items():
            with (job / name).open("rb") as file:
                file.seek(self._done[name])
                gained = file.read()
            self._done[name] += len(gained)
            stream.write(gained)
            stream.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.lab",
        usage="%(prog)s [OPTION ...] TOPOLOGY -- COMMAND [ARGUMENT ...]",
        description=__doc__,
        epilog="Exit code: the command's; 124 timed out; 125 the lab failed; 2 wrong use.",
    )
    add = parser.add_argument
    add("topology", choices=TOPOLOGIES, help="the machine: %(choices)s", metavar="TOPOLOGY")
    add("-k", "--kernel", choices=PACKAGES, default="6.1")
    add("-c", "--cgroup", choices=CGROUPS, default="v2")
    add("-d", "--devices", default="", help=f"on each node, of {', '.join(DEVICES)}; a/b: on one switch")
    add("-m", "--memory-nodes", default="", help="the nodes that are the memory of GPU 0,1,...")
    add("-t", "--timeout", type=float, default=600.0, metavar="SECONDS")
    add("-e", "--environment", action="append", default=[], metavar="NAME=VALUE")
    add("-o", "--output", type=Path, metavar="FOLDER", help="what the command leaves in $LAB_OUT")
    add("-a", "--append", default="", help="more of the kernel's command line")
    add("-v", "--verbose", action="store_true", help="show the time and the guest's console")
    return parser


sys.exit(main())
