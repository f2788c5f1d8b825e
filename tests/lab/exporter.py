"""Run in the guest: the exporter of this checkout, which waits for a line before it looks.

    python -m tests.lab.exporter snapshot -o FILE

It is imported while the workloads start and come of age: on an emulated CPU that takes as long as they do.
"""

import sys
from importlib import import_module

from numa_exporter.cli.main import main as run


def main() -> int:
    arguments = sys.argv[1:]
    import_module(f"numa_exporter.cli.{arguments[0]}")
    sys.stdin.readline()
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
