"""The kernel module that gives QEMU's 'edu' devices the identity of NVIDIA GPUs, built when its source changed."""

import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.lab.apt import Archive
from tests.lab.kernel import CODENAME, Kernel

SOURCES = Path(__file__).resolve().parent / "nvidia"


def stand_in(kernel: Kernel) -> Path | None:
    """The module for `kernel`; None on a machine without a compiler."""
    source = b"".join(file.read_bytes() for file in sorted(SOURCES.iterdir()))
    built = kernel.home / f"stand_in-{hashlib.sha256(source).hexdigest()[:12]}.ko"
    if built.exists():
        return built
    if not all(shutil.which(tool) for tool in ("gcc", "make")):
        return None
    for stale in kernel.home.glob("stand_in-*"):
        stale.unlink()
    with tempfile.TemporaryDirectory(prefix="numa-lab-") as scratch:
        shutil.copy(_build(kernel.release, Path(scratch)), built.with_suffix(".new"))
    built.with_suffix(".new").rename(built)
    return built


def _build(release: str, scratch: Path) -> Path:
    """Builds against the release's headers, unpacked and never installed: those of 6.12 depend on a kernel image."""
    archive = Archive(CODENAME, scratch / "apt")
    headers = f"linux-headers-{release}"
    root = scratch / "root"
    for package in (headers, *archive.depends(headers, r"linux-(headers|kbuild)-\S+")):
        archive.unpack(package, root)
    makefile = root / "usr" / "src" / headers / "Makefile"
    makefile.write_text(re.sub(r"(?m)^include /", f"include {root}/", makefile.read_text()))
    shutil.copytree(SOURCES, scratch / "module")
    # no BTF: it needs pahole, and nothing here reads it
    options = ["CC=gcc", "CONFIG_DEBUG_INFO_BTF_MODULES="]
    command = ["make", "-s", "-C", str(makefile.parent), f"M={scratch / 'module'}", *options, "modules"]
    subprocess.run(command, check=True)
    return scratch / "module" / "stand_in.ko"
