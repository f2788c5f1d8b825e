"""A build with a fault in it: the command line of an exporter that takes N1 for N0 in numa_maps."""

import sys
from collections.abc import Iterable
from typing import Any

from numa_exporter.cli.main import main
from numa_exporter.formats import numa_maps
from numa_exporter.formats.numa_maps import NumaMaps

fold = numa_maps.fold


def faulty(blocks: Iterable[bytes], path: str, **more: Any) -> NumaMaps:
    return fold([b"".join(blocks).replace(b" N1=", b" N0=")], path, **more)


if __name__ == "__main__":
    numa_maps.fold = faulty
    sys.exit(main())
