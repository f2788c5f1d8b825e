"""Debian's kernels, taken apart once and kept between runs: the ELF image and the modules that a guest may load."""

import lzma
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tests.lab.apt import Archive

CODENAME = "bookworm"  # Debian 12 has both series, and its build tools run on whatever is newer
PACKAGES = MappingProxyType({"6.1": "linux-image-amd64", "6.12": "linux-image-6.12-amd64"})
MODULES = ("virtio_pci", "overlay", "9pnet_virtio", "9p", "nvme", "virtio_net", "virtio_gpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """`modules` holds for each of MODULES what to load, in order; nothing for one that is built in."""

    release: str
    home: Path
    modules: Mapping[str, tuple[Path, ...]]

    @property
    def vmlinux(self) -> Path:
        return self.home / "vmlinux"


def cache() -> Path:
    """The folder outside the tree for what is fetched and built once."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numa-exporter-lab"


def kernel(name: str) -> Kernel:
    """The newest kernel of the series `name`, from the cache or else from Debian; delete its folder to renew it."""
    home = cache() / name
    if not home.is_dir():
        with tempfile.TemporaryDirectory(prefix="numa-lab-") as scratch:
            _fetch(PACKAGES[name], Path(scratch))
            new = home.with_suffix(".new")
            shutil.rmtree(new, ignore_errors=True)
            shutil.copytree(Path(scratch) / "kernel", new)
            new.rename(home)
    modules = {
        wanted: tuple(home / file for file in (home / f"{wanted}.order").read_text().split()) for wanted in MODULES
    }
    return Kernel(release=(home / "release").read_text(), home=home, modules=modules)


def _fetch(package: str, scratch: Path) -> None:
    archive = Archive(CODENAME, scratch / "apt")
    (real,) = archive.depends(package, r"linux-image-\d\S+")
    archive.unpack(real, scratch / "root")
    release = real.removeprefix("linux-image-")
    home = scratch / "kernel"
    home.mkdir()
    (home / "release").write_text(release)
    image = (scratch / "root" / "boot" / f"vmlinuz-{release}").read_bytes()
    (home / "vmlinux").write_bytes(_elf(image))
    tree = scratch / "root" / "lib" / "modules" / release
    for module in MODULES:
        order = _take_module(module, tree, home)
        (home / f"{module}.order").write_text("\n".join(order))


def _elf(image: bytes) -> bytes:
    """The ELF kernel inside a bzImage (Documentation/arch/x86/boot.rst: setup_sects, payload_offset and _length).

    QEMU boots it through its PVH note, which saves the guest the decompression: 2.5 s of every emulated boot.
    """
    setup_sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    payload = image[(setup_sectors + 1) * 512 + offset :][:length]
    if payload.startswith(b"\xfd7zXZ"):
        return lzma.LZMADecompressor().decompress(payload)
    # zstd; the last four bytes are the length, which is no part of the frame
    return subprocess.run(["zstd", "-dc"], input=payload[:-4], stdout=subprocess.PIPE, check=True).stdout


def _take_module(name: str, tree: Path, home: Path) -> list[str]:
    """Copies a module and what it depends on; their file names in the order to load them in."""
    found = [*tree.rglob(f"{name}.ko*"), *tree.rglob(f"{name.replace('_', '-')}.ko*")]
    if not found:
        if f"/{name}.ko" not in (tree / "modules.builtin").read_text().replace("-", "_"):
            raise RuntimeError(f"kernel {tree.name} has no module {name}")
        return []
    target = home / f"{name}.ko"
    content = found[0].read_bytes()
    target.write_bytes(lzma.decompress(content) if found[0].suffix == ".xz" else content)
    query = ["modinfo", "-F", "depends", str(target)]
    depends = subprocess.run(query, check=True, stdout=subprocess.PIPE, text=True).stdout
    order: list[str] = []
    for dependency in filter(None, depends.strip().replace("-", "_").split(",")):
        order += [file for file in _take_module(dependency, tree, home) if file not in order]
    return [*order, target.name]
