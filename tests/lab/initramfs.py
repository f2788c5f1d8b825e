"""The archive that a guest starts from: busybox, the init scripts and modules, as an uncompressed cpio."""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

GUEST = Path(__file__).resolve().parent / "guest"
FOLDERS = ("bin", "dev", "identity", "modules", "proc", "sys")


def initramfs(modules: Iterable[Path], stand_in: Path | None) -> bytes:
    """Loads `modules` in their order, then `stand_in`. FileNotFoundError where busybox is not installed."""
    busybox = shutil.which("busybox")
    if busybox is None:
        raise FileNotFoundError("needs busybox (Debian package busybox-static)")
    files = {file.name: file.read_bytes() for file in GUEST.iterdir()}  # init and second
    files["bin/busybox"] = Path(busybox).read_bytes()
    order = list(dict.fromkeys(modules))
    files["modules/order"] = "".join(f"{module.name}\n" for module in order).encode()
    files |= {f"modules/{module.name}": module.read_bytes() for module in order}
    if stand_in is not None:
        files["modules/stand_in.ko"] = stand_in.read_bytes()
    return b"".join(_members(files))


def _members(files: dict[str, bytes]) -> Iterator[bytes]:
    for name in FOLDERS:
        yield _member(name, 0o040755, b"")
    for name, content in files.items():
        yield _member(name, 0o100755, content)
    yield _member("TRAILER!!!", 0, b"")


def _member(name: str, mode: int, content: bytes) -> bytes:
    """One member in the "newc" form (Documentation/driver-api/early-userspace/buffer-format.rst)."""
    path = name.encode() + b"\0"
    # ino, mode, uid, gid, nlink, mtime, size, four device numbers, size of the name, checksum
    fields = (0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0)
    header = b"070701" + b"".join(b"%08X" % number for number in fields)
    return _padded(header + path) + _padded(content)


def _padded(part: bytes) -> bytes:
    return part + bytes(-len(part) % 4)
