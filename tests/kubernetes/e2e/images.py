"""Container images made of one static binary, without a builder or a registry: the pods' sandbox and the workloads."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

from tests.kubernetes.e2e import settings

SLEEP = ("/bin/busybox", "sleep", "2147483647")


def archive(busybox: Path, target: Path) -> Path:
    """A `docker save` archive with the images that the node needs, all with busybox as /bin/busybox."""
    layer = _tar({"bin/busybox": busybox.read_bytes()})
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Cmd": SLEEP},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        }
    )
    names = [settings.PAUSE_IMAGE, settings.WORKLOAD_IMAGE]
    manifest = json.dumps([{"Config": "config.json", "RepoTags": names, "Layers": ["layer.tar"]}])
    files = {"config.json": config.encode(), "manifest.json": manifest.encode(), "layer.tar": layer}
    target.write_bytes(_tar(files))
    return target


def _tar(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = 0o755
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
