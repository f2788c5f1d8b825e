"""Run in the guest: the exporter of this checkout, which waits for a line before it looks.

    python -m tests.lab.exporter [misread] snapshot -o FILE

It is imported while the workloads start and come of age: on an emulated CPU that takes as long as they do.
`misread` plants a fault: a build that takes N1 for N0 in numa_maps.
"""

import sys
from collections.abc import Iterable
from typing import Any

from numa_exporter.cli.main import main as run
from numa_exporter.formats import numa_maps
from numa_exporter.formats.numa_maps import NumaMaps


def main() -> int:
    arguments = sys.argv[1:]
    if arguments[0] == "misread":
        arguments.pop(0)
        misread()
    sys.stdin.readline()
    return run(arguments)


def misread() -> None:
    fold = numa_maps.fold

    def faulty(blocks: Iterable[bytes], path: str, **more: Any) -> NumaMaps:
        return fold([b"".join(blocks).replace(b" N1=", b" N0=")], path, **more)

    numa_maps.fold = faulty


if __name__ == "__main__":
    sys.exit(main())
