"""What a Kubernetes node is made of, fetched from Debian and built once, kept outside the tree.

Debian 12 is the last release whose source package `kubernetes` is the whole tree; later ones are trimmed to kubectl.
Nothing is installed: packages are unpacked below the cache. Delete its folder to renew it.
"""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.kubernetes.e2e.build import build
from tests.lab.apt import Archive

NODE_RELEASE = "bookworm"
NODE_PACKAGES = ("containerd", "runc", "containernetworking-plugins", "etcd-server", "busybox-static")
PROMETHEUS_RELEASE = "trixie"  # bookworm's Prometheus has no kubernetes_sd_configs
GO_PACKAGES = ("golang-1.19-go", "golang-1.19-src")


def cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numa-exporter-kubernetes"


def node() -> Path:
    """The root with containerd, runc, the CNI plugins and etcd (20 s when not cached)."""
    return _once("node", lambda folder, scratch: _unpack(NODE_RELEASE, NODE_PACKAGES, folder, scratch))


def prometheus() -> Path:
    """The root with a Prometheus that discovers in Kubernetes."""
    return _once("prometheus", lambda folder, scratch: _unpack(PROMETHEUS_RELEASE, ("prometheus",), folder, scratch))


def kubernetes() -> Path:
    """The folder with kube-apiserver, kubelet, kube-controller-manager and kube-scheduler (6 min on two idle cores)."""
    return _once("kubernetes", _build)


def _build(folder: Path, scratch: Path) -> None:
    archive = Archive(NODE_RELEASE, scratch / "apt", sources=True)
    for package in GO_PACKAGES:
        archive.unpack(package, scratch / "root")
    source = scratch / "gopath" / "src" / "k8s.io" / "kubernetes"
    source.parent.mkdir(parents=True)
    archive.unpack_source("kubernetes", source)
    build(source, go_root=scratch / "root" / "usr" / "lib" / "go-1.19", go_path=scratch / "gopath", binaries=folder)


def _unpack(release: str, packages: tuple[str, ...], folder: Path, scratch: Path) -> None:
    archive = Archive(release, scratch / "apt")
    for package in packages:
        archive.unpack(package, folder)


def _once(name: str, fill: Callable[[Path, Path], None]) -> Path:
    """The folder `name` of the cache, whole or not at all."""
    home = cache() / name
    if not home.is_dir():
        new = home.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        with tempfile.TemporaryDirectory(prefix=f"numa-{name}-") as scratch:
            fill(new, Path(scratch))
        new.rename(home)
    return home
