"""Debian packages out of a release that need not be this machine's: downloaded and unpacked, never installed.

apt is told to use folders of its own, so the machine's sources, lists and preferences stay as they are.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"  # package debian-archive-keyring


class Archive:
    """The archive of the Debian release `codename`, with its security updates; `folder` holds apt's state.

    Source packages only where asked for with `sources`: their lists are large. sid has no `security`.
    """

    def __init__(self, codename: str, folder: Path, *, sources: bool = False, security: bool = True) -> None:
        self._folder = folder
        for name in ("sources", "preferences", "lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True)
        lines = [
            f"{kind} [signed-by={KEYRING}] {mirror} {codename}{suffix} main"
            for mirror, suffix in mirrors()
            if security or not suffix
            for kind in ("deb", "deb-src")[: 2 if sources else 1]
        ]
        (folder / "sources" / "lab.list").write_text("\n".join(lines) + "\n")
        settings = {
            "Dir::Etc::sourcelist": "/dev/null",
            "Dir::Etc::sourceparts": folder / "sources",
            "Dir::Etc::preferencesparts": folder / "preferences",
            "Dir::State::lists": folder / "lists",
            "Dir::Cache": folder / "cache",
            "APT::Sandbox::User": "root",  # the folder may be closed to user _apt
        }
        text = "".join(f'{key} "{value}";\n' for key, value in settings.items())
        (folder / "apt.conf").write_text(text)
        self._apt("apt-get", "-q", "update")

    def depends(self, package: str, pattern: str) -> list[str]:
        """The direct dependencies of `package` that match `pattern` as a whole, in order."""
        text = self._apt("apt-cache", "depends", "--no-recommends", "--no-suggests", package)
        names = re.findall(r"Depends: (\S+)", text)
        return [name for name in names if re.fullmatch(pattern, name)]

    def unpack(self, package: str, root: Path) -> None:
        """Lays the files of `package` below `root`."""
        downloads = self._folder / "downloads"
        downloads.mkdir(exist_ok=True)
        self._apt("apt-get", "-q", "download", package, cwd=downloads)
        (deb,) = downloads.glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", deb, root], check=True)
        deb.unlink()

    def unpack_source(self, package: str, target: Path) -> None:
        """Makes the folder `target` of the source package `package`, with Debian's patches (needs dpkg-dev)."""
        downloads = self._folder / f"source-{package}"
        downloads.mkdir()
        self._apt("apt-get", "-q", "source", "--download-only", package, cwd=downloads)
        (description,) = downloads.glob("*.dsc")
        subprocess.run(["dpkg-source", "-q", "-x", description, target], check=True)
        shutil.rmtree(downloads)

    def _apt(self, *command: str, cwd: Path | None = None) -> str:
        environment = os.environ | {"APT_CONFIG": str(self._folder / "apt.conf")}
        return subprocess.run(command, env=environment, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def mirrors() -> list[tuple[str, str]]:
    """This machine's own Debian mirrors as (address, suffix of the release name); none on another distribution."""
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(ORIGIN) $(CODENAME) $(REPO_URI)", "Created-By: Packages"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    found = {}
    for origin, codename, address in (line.split() for line in listed.splitlines() if line.count(" ") == 2):
        suffix = codename.removeprefix(codename.partition("-")[0])
        if origin == "Debian" and suffix in ("", "-security"):
            found[suffix] = address
    return [(address, suffix) for suffix, address in sorted(found.items())]
