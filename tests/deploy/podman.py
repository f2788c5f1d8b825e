"""podman with the image store of a build, and a DaemonSet's rights as its options."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.deploy.chart import Object
from tests.deploy.image import Store

PROGRAMS = ("podman", "runc")
# Not this container's business: without them runc wants to raise limits, which a container on a container may not.
HERE = ("--pull=never", "--network=none", "--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096")


class Podman:
    """Containers of the images in a store. CalledProcessError with what podman said where a command fails."""

    def __init__(self, store: Store, run: Path) -> None:
        self._command = ["podman", f"--root={store.folder}", f"--runroot={run}", "--storage-driver=overlay"]
        self._command += ["--cgroup-manager=cgroupfs", "--events-backend=file", "--runtime=runc"]

    def __call__(self, *arguments: str, check: bool = True) -> str:
        done = subprocess.run([*self._command, *arguments], capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise AssertionError(f"podman {arguments[0]}: {done.stdout}{done.stderr}")
        return done.stdout.strip()

    def inspect(self, name: str) -> Object:
        (told,) = json.loads(self("inspect", name))
        return dict(told)

    @contextmanager
    def running(self, image: str, *command: str, options: tuple[str, ...] = ()) -> Iterator[str]:
        """The id of a container that runs until the block ends."""
        identity = self("run", "--detach", *HERE, *options, image, *command)
        try:
            yield identity
        finally:
            self("rm", "--force", "--time=0", identity)


@contextmanager
def containers(store: Store) -> Iterator[Podman]:
    # Its memory of earlier containers, all gone, would insist on the folder that they ran in.
    shutil.rmtree(store.folder / "libpod", ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="numa-podman-") as run:
        yield Podman(store, Path(run))


def rights(spec: Object, container: Object, profiles: Path) -> tuple[str, ...]:
    """Options that give what the pod gives: user, capabilities, filter, PID namespace, memory, mounts of the host."""
    told = container["securityContext"]
    options = [f"--user={told['runAsUser']}:{told['runAsGroup']}"]
    options += [f"--cap-drop={name}" for name in told["capabilities"]["drop"]]
    options += [f"--cap-add={name}" for name in told["capabilities"].get("add", [])]
    if not told["allowPrivilegeEscalation"]:
        options.append("--security-opt=no-new-privileges")
    if told["readOnlyRootFilesystem"]:
        options += ["--read-only", "--read-only-tmpfs=false"]
    profile = told.get("seccompProfile", {"type": "RuntimeDefault"})
    if profile["type"] == "Localhost":
        options.append(f"--security-opt=seccomp={profiles / profile['localhostProfile']}")
    if spec["hostPID"]:
        options.append("--pid=host")
    options.append(f"--memory={container['resources']['limits']['memory'].removesuffix('i').lower()}")
    options += [f"--env={pair['name']}={pair['value']}" for pair in container["env"]]
    return (*options, *_mounts(spec, container))


def _mounts(spec: Object, container: Object) -> Iterator[str]:
    paths = {volume["name"]: volume["hostPath"]["path"] for volume in spec["volumes"] if "hostPath" in volume}
    for mount in container["volumeMounts"]:
        if mount["name"] in paths:
            spread = ",rslave" if mount.get("mountPropagation") == "HostToContainer" else ""
            access = "ro" if mount.get("readOnly") else "rw"
            yield f"--volume={paths[mount['name']]}:{mount['mountPath']}:{access}{spread}"
