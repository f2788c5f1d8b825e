"""/proc/devices: which driver has which major number.

Documentation/filesystems/proc.rst, fs/proc/devices.c::

    Character devices:
      1 mem
    195 nvidia-frontend
    234 nvidia-caps
    507 nvidia-uvm

    Block devices:
    259 blkext

Character and block majors are two number spaces. Many are given out at load time and differ from boot to boot.
"""

from numa_exporter.formats import number
from numa_exporter.formats.parse_error import ParseError


def parse_character(data: bytes, path: str) -> dict[str, int]:
    """Major numbers of the character devices by driver; the last of a name that occurs twice. Raises ParseError."""
    found: dict[str, int] = {}
    character = False
    for at, line in enumerate(data.splitlines(), 1):
        words = line.split(None, 1)
        if len(words) == 2 and number.countable(words[0]):
            if character:
                found[words[1].decode("ascii", "backslashreplace")] = int(words[0])
        elif line.rstrip().endswith(b"devices:"):
            character = line.startswith(b"Character")
        elif words:
            raise ParseError(path, at, line, "'MAJOR NAME' or 'Character devices:'")
    return found
