"""Run in the guest: the exporter of this checkout, which waits for a line before it looks.

    python -m tests.lab.exporter snapshot -o FILE

It is imported while the workloads start and come of age: on an emulated CPU that takes as long as they do. When its
first look is done, that is when it sleeps until the next, the file $LAB_LOOKED is there.
"""

import os
import sys
import time
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

from numa_exporter.agent import look
from numa_exporter.cli.main import main as run


def main() -> int:
    arguments = sys.argv[1:]
    import_module(f"numa_exporter.cli.{arguments[0]}")
    sys.stdin.readline()

    def sleep(seconds: float) -> None:
        Path(os.environ["LAB_LOOKED"]).touch()
        time.sleep(seconds)

    vars(look)["time"] = SimpleNamespace(sleep=sleep)  # between looks it sleeps, and does nothing else with time
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
