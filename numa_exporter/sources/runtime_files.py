"""What container runtimes' own files call a container: containerd's and CRI-O's bundles, docker's and podman's lists.

Beside a name in these files stand tokens and keys, so each is asked for single members (Host.pick).
"""

import re
from dataclasses import dataclass
from functools import partial

from numa_exporter.formats import podman_containers
from numa_exporter.formats.workload_path import WorkloadPath
from numa_exporter.model.names import ContainerName
from numa_exporter.sources.look import Look

USER = re.compile(r"/user-([0-9]+)\.slice/")
"""In a cgroup's path: systemd's slice of a user."""
_CONTAINERD = (
    "annotations/io.kubernetes.cri.container-type",
    tuple(f"annotations/io.kubernetes.cri.{name}" for name in ("sandbox-namespace", "sandbox-name", "container-name")),
)
_CRI_O = (
    "annotations/io.kubernetes.cri-o.ContainerType",
    tuple(f"annotations/io.kubernetes.{name}" for name in ("pod.namespace", "pod.name", "container.name")),
)
_BUNDLES = (
    # All carry what the kubelet asked for as annotations. k3s and k0s bring a containerd of their own.
    ("containerd", "/run/containerd/io.containerd.runtime.v2.task/k8s.io/{}/config.json", *_CONTAINERD),
    ("containerd", "/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/{}/config.json", *_CONTAINERD),
    ("containerd", "/run/k0s/containerd/io.containerd.runtime.v2.task/k8s.io/{}/config.json", *_CONTAINERD),
    ("cri-o", "/run/containers/storage/overlay-containers/{}/userdata/config.json", *_CRI_O),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A pod's container. ``name`` is None for a sandbox, which only holds the pod's namespaces."""

    runtime: str
    name: ContainerName | None = None


def bundle(look: Look, container_id: str) -> Bundle | None:
    """What the runtime's bundle of a container says; None where none was found or it says nothing."""
    for runtime, path, kind, members in _BUNDLES:
        found = look.attempt(partial(look.host.pick, path.format(container_id), kind, *members)) or {}
        if found.get(kind) == "sandbox":
            return Bundle(runtime=runtime)
        if all(member in found for member in members):
            namespace, pod, container = (found[member] for member in members)
            return Bundle(runtime=runtime, name=ContainerName(namespace=namespace, pod=pod, container=container))
    return None


def docker_name(look: Look, path: WorkloadPath, container_id: str) -> str | None:
    config, usual = "/etc/docker/daemon.json", "/var/lib/docker"
    if user := USER.search(path.path):
        home = _home(look, user[1])
        if home is None:
            return None
        config, usual = f"{home}/.config/docker/daemon.json", f"{home}/.local/share/docker"
    moved = look.attempt(lambda: look.host.pick(config, "data-root")) or {}
    root = moved.get("data-root", usual).rstrip("/")
    found = look.attempt(lambda: look.host.pick(f"{root}/containers/{container_id}/config.v2.json", "Name")) or {}
    return found.get("Name", "").lstrip("/") or None


def podman_name(look: Look, path: WorkloadPath, container_id: str) -> str | None:
    root = _podman_root(look, path)
    for name in ("containers.json", "volatile-containers.json"):
        found = look.file(f"{root}/overlay-containers/{name}", podman_containers.parse) if root else None
        if found and container_id in found:
            return found[container_id]
    return None


def _podman_root(look: Look, path: WorkloadPath) -> str | None:
    """Root's storage, or that of the user in whose slice the container runs."""
    user = USER.search(path.path)
    if user is None:
        return "/var/lib/containers/storage"
    home = _home(look, user[1])
    return home and f"{home}/.local/share/containers/storage"


def _home(look: Look, uid: str) -> str | None:
    return look.file("/etc/passwd", lambda data, _: _home_of(data, uid))


def _home_of(passwd: bytes, uid: str) -> str | None:
    """passwd(5): name:password:UID:GID:comment:home:shell."""
    rows = (line.split(":") for line in passwd.decode("utf-8", "surrogateescape").splitlines())
    return next((row[5] for row in rows if len(row) > 6 and row[2] == uid), None)
