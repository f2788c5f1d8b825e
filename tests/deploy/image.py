"""The Dockerfile built by buildah with no registry: its base is Debian's own Python, laid down by debootstrap.

The base and the layers stay in a store of their own in the cache: the first build takes two minutes, the next seconds.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.deploy.tools import kept
from tests.lab.apt import mirrors

REPOSITORY = Path(__file__).resolve().parents[2]
BASE = "docker.io/library/python:3.13-slim"  # what the Dockerfile starts from: Debian 13 as well, with 3.13 as well
BASE_RELEASE = "trixie"
BASE_PACKAGES = "python3,python3-venv,python3-pip,ca-certificates"
PROGRAMS = ("buildah", "debootstrap")
FROM_HERE = ("/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")  # how this machine reaches PyPI


class Store:
    """buildah with images of its own, below `folder`; the machine's are not touched."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def buildah(self, *arguments: str) -> str:
        """What buildah printed. CalledProcessError where it failed."""
        with tempfile.TemporaryDirectory(prefix="numa-image-") as run:
            store = ("--root", str(self.folder), "--runroot", run, "--storage-driver", "overlay")
            done = subprocess.run(["buildah", *store, *arguments], check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout.strip()


def build(name: str, *more: str, tree: Path = REPOSITORY) -> Store:
    """Builds the Dockerfile of `tree` as `name`, with `more` options, and gives the store that holds it."""
    store = Store(kept(f"images-{BASE_RELEASE}", _make_base))
    # chroot: a network of buildah's own would lay a bridge and firewall rules on this machine
    here = [word for path in FROM_HERE if os.path.exists(path) for word in ("--volume", f"{path}:{path}:ro")]
    options = ("--layers", "--pull-never", "--format=docker", "--isolation=chroot", "--network=host", *here)
    store.buildah("bud", "--quiet", *options, *more, "--tag", name, str(tree))
    return store


def save(store: Store, name: str, archive: Path) -> Path:
    """The image as `docker save` would write it."""
    store.buildah("push", "--quiet", name, f"docker-archive:{archive}:{name}")
    return archive


def _make_base(home: Path) -> None:
    store = Store(home)
    with tempfile.TemporaryDirectory(prefix="numa-base-") as scratch:
        root = Path(scratch, "root")
        mirror = {suffix: address for address, suffix in mirrors()}[""]
        options = ("--variant=minbase", f"--include={BASE_PACKAGES}")
        subprocess.run(["debootstrap", *options, BASE_RELEASE, root, mirror], check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(root / "var" / "cache" / "apt" / "archives")
        tar = Path(scratch, "root.tar")
        subprocess.run(["tar", "-C", root, "-cf", tar, "."], check=True)
        container = store.buildah("from", "scratch")
        store.buildah("add", "--quiet", container, str(tar), "/")
        store.buildah("config", "--env", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", container)
        store.buildah("commit", "--quiet", "--rm", container, BASE)
