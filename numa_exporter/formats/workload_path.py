r"""What a cgroup path says: pod and container, docker, podman, Slurm step, LXC, virtual machine or systemd unit.

The paths are made by the kubelet (pkg/kubelet/cm/cgroup_manager_linux.go, pod_container_manager_linux.go),
the container runtimes, Slurm (cgroup.conf(5)), LXC, libvirt and systemd, not by the kernel::

    /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podd0511cd2_29d2_….slice/crio-f93e….scope
    /kubepods/pod068e8fa0-9213-11e7-a01f-507b9d4141fa/40af7cdcbe50…          Guaranteed: no QoS level
    /system.slice/containerd.service/kubepods-pod….slice:cri-containerd:1753… runtime with the wrong driver
    /system.slice/docker-fd9d….scope/kubelet/kubepods/pod55db13a1-…/21e6…     kind: a node in a container
    /../../pod12345678-1234-4abc-8def-1234567890ab/aaaa…                      from another cgroup namespace
    /system.slice/slurmstepd.scope/job_1392969/step_0/user/task_0

No units. A component is matched anywhere: containers nest, and processes sit in cgroups below their container's.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from numa_exporter.formats import pod_path
from numa_exporter.formats.pod_path import Pod
from numa_exporter.formats.proc_cgroup import Membership

Kind = Literal["k8s-container", "pod-no-container", "container", "slurm-job", "lxc", "vm", "host", "ambiguous"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadPath:
    """Whom a cgroup path belongs to.

    ``path`` is the path that told, ``directory`` the part of it that is the workload's own cgroup. ``unit`` is the
    label of a workload outside Kubernetes, with the id's first 12 digits where only the runtime knows a name.
    ``pod-no-container`` is a pod's own overhead (a sandbox, conmon). ``ambiguous`` claims a pod that the
    kubelet did not make there, or hierarchies that disagree: it is attributed to nobody.
    ``outer_container_id``: the container around it, such as the node of a kind cluster. ``slurm_job_id`` can be
    a SLUID (Slurm >= 26.05).
    """

    kind: Kind
    path: str
    directory: str
    unit: str | None = None
    container_id: str | None = None
    pod_uid: str | None = None
    qos_class: str | None = None
    runtime: str | None = None
    outer_container_id: str | None = None
    slurm_job_id: str | None = None
    slurm_step: str | None = None


_HEX = r"[0-9a-f]{64}"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_CONTAINER = re.compile(
    rf"(?:(?P<prefix>[a-z][a-z0-9.]*(?:[-_][a-z0-9.]+)*)[-_])?(?P<id>{_HEX})(?:\.scope)?", re.IGNORECASE
)
_ECS = re.compile(r"[0-9a-f]{32}-[0-9]{6,}")
_BARE_UUID = re.compile(rf"{_UUID}|[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{4}}", re.IGNORECASE)
_SHORT_CRI = re.compile(r"(?P<prefix>cri-containerd|crio|docker)-(?P<id>[0-9a-f]{12,})(?:\.scope)?")
_SLURM = re.compile(
    r"/(?:slurm(?:_[^/]+)?(?:/uid_[0-9]+)?|(?:[^/]+_)?slurmstepd\.scope)"
    r"/(?:job_(?P<job>[0-9]+)|(?P<sluid>s[0-9A-Z]{10,}))(?:/step_(?P<step>[^/]+))?(?=/|\Z)"
)
_LXC = re.compile(r".*/(?:lxc\.payload[./]|lxc/)(?P<name>[^/]+)")
_VM = re.compile(r".*/(?:libvirt/qemu/[^/]+|machine-qemu[^/]*\.scope|[^/]+\.libvirt-qemu|qemu\.slice/[0-9]+\.scope)")
_RUNTIME = {
    "cri-containerd": "containerd",
    "nerdctl": "containerd",
    "k8s.io": "containerd",
    "crio": "cri-o",
    "docker": "docker",
    "libpod": "podman",
    "libpod-payload": "podman",
}
_ORDER = ("name=systemd", "memory", "cpuset", "pids")


def classify(memberships: Sequence[Membership]) -> WorkloadPath:
    """The workload of a process, from all lines of its /proc/PID/cgroup.

    The first line that names a workload decides, in the order v2, name=systemd, memory, cpuset, pids, the others;
    a line that names something nested in it decides instead. Without any the deepest path is the unit.
    """
    paths = [classify_path(membership.path) for membership in sorted(memberships, key=_rank)]
    known = [path for path in paths if path.kind != "host"]
    if not known:
        return max(paths, key=lambda path: path.path.count("/"), default=classify_path("/"))
    best = known[0]
    for other in known[1:]:
        if _inside(other, best):
            best = other
        elif not _inside(best, other) and _disagree(best, other):
            return _ambiguous(best.path)
    return best


def _rank(membership: Membership) -> int:
    if not membership.controllers:
        return -1
    named = (_ORDER.index(name) for name in membership.controllers if name in _ORDER)
    return min(named, default=len(_ORDER))


def _inside(inner: WorkloadPath, outer: WorkloadPath) -> bool:
    return inner.directory != outer.directory and inner.directory.startswith(outer.directory + "/")


def _disagree(one: WorkloadPath, other: WorkloadPath) -> bool:
    """True if both name a container or pod, and not the same."""
    mine, theirs = (one.pod_uid, one.container_id), (other.pod_uid, other.container_id)
    return mine != theirs and any(mine) and any(theirs)


def classify_path(path: str) -> WorkloadPath:
    """The workload of one absolute cgroup path, as the host or another cgroup namespace sees it."""
    components = pod_path.components(path)
    pod = pod_path.innermost(components)
    if pod is not None:
        return _in_pod(path, components, pod)
    if any(map(pod_path.claims_pod, components)):
        return _ambiguous(path)
    return _container(path, components) or _slurm(path) or _machine(path) or _host(path)


def _container_id(
    component: str, parent: str | None, *, in_pod: bool, innermost: bool
) -> tuple[str, str | None] | None:
    """(container id, runtime) if the component is a container's cgroup."""
    match = _CONTAINER.fullmatch(component) or (_SHORT_CRI.fullmatch(component) if in_pod else None)
    if match:
        prefix = match["prefix"]
        if prefix and ("conmon" in prefix or prefix.endswith("_pod")):
            return None
        return match["id"].lower(), _RUNTIME.get(prefix or parent or "")
    if _ECS.fullmatch(component):
        return component, None
    own = in_pod or (innermost and parent not in ("lxc", "qemu"))
    return (component.lower(), None) if own and _BARE_UUID.fullmatch(component) else None


def _containers(
    components: Sequence[str], start: int = 0, *, in_pod: bool = False
) -> list[tuple[int, str, str | None]]:
    """(position, id, runtime) of every container's component from ``start`` on."""
    found = []
    for at in range(start, len(components)):
        parent = components[at - 1] if at else None
        container = _container_id(components[at], parent, in_pod=in_pod, innermost=at == len(components) - 1)
        if container:
            found.append((at, *container))
    return found


def _in_pod(path: str, components: Sequence[str], pod: Pod) -> WorkloadPath:
    inner = _containers(components, pod.at + 1, in_pod=True)
    outer = _containers(components[: pod.at])
    own_at, container_id, runtime = inner[0] if inner else (pod.at, None, None)
    slurm_job_id, slurm_step = _job(_SLURM.search(path))
    return WorkloadPath(
        kind="k8s-container" if inner else "pod-no-container",
        path=path,
        directory=pod_path.directory(path, components, own_at),
        container_id=container_id,
        pod_uid=pod.uid,
        qos_class=pod.qos_class,
        runtime=runtime,
        outer_container_id=outer[-1][1] if outer else None,
        slurm_job_id=slurm_job_id,
        slurm_step=slurm_step,
    )


def _container(path: str, components: Sequence[str]) -> WorkloadPath | None:
    """A container outside of any pod: the innermost."""
    found = _containers(components)
    if not found:
        return None
    at, container_id, runtime = found[-1]
    # A CRI name without its pod: the reader's cgroup namespace hides it, the names on disk can still tell it.
    in_kubernetes = components[at].startswith(("cri-containerd-", "crio-"))
    unit = f"{runtime}/{container_id[:12]}" if runtime in ("docker", "podman") else shown(components[at])
    slurm_job_id, slurm_step = _job(_SLURM.search(path))
    return WorkloadPath(
        kind="k8s-container" if in_kubernetes else "container",
        path=path,
        directory=pod_path.directory(path, components, at),
        unit=None if in_kubernetes else unit,
        container_id=container_id,
        runtime=runtime,
        outer_container_id=found[-2][1] if len(found) > 1 else None,
        slurm_job_id=slurm_job_id,
        slurm_step=slurm_step,
    )


def _job(match: re.Match[str] | None) -> tuple[str | None, str | None]:
    """(job, step) of Slurm, also where a container is in the job or the job in a container (slurmd in a pod)."""
    if match is None:
        return None, None
    return match["job"] or match["sluid"], shown(match["step"]) if match["step"] else None


def _slurm(path: str) -> WorkloadPath | None:
    match = _SLURM.search(path)
    if match is None:
        return None
    job, step = _job(match)
    return WorkloadPath(
        kind="slurm-job",
        path=path,
        directory=path[: match.end()],
        unit=f"slurm/{job}/{step}" if step else f"slurm/{job}",
        slurm_job_id=job,
        slurm_step=step,
    )


def _machine(path: str) -> WorkloadPath | None:
    """An LXC container or a virtual machine."""
    machine = _VM.match(path)
    if machine:
        name = shown(machine[0].rpartition("/")[2])
        return WorkloadPath(kind="vm", path=path, directory=machine[0], unit=name)
    lxc = _LXC.match(path)
    if lxc:
        return WorkloadPath(kind="lxc", path=path, directory=lxc[0], unit=f"lxc/{shown(lxc['name'])}")
    return None


def _host(path: str, kind: Literal["host", "ambiguous"] = "host") -> WorkloadPath:
    """A systemd unit: the first component that is no slice (systemd's cg_path_get_unit), below a user's manager
    the next one, with the user: names of units are unique below one manager only. Elsewhere the innermost component."""
    components = list(filter(None, path.split("/")))
    units = [at for at, name in enumerate(components) if name.endswith((".service", ".scope"))]
    manager = re.fullmatch(r"(user@[0-9]+)\.service", components[units[0]]) if len(units) > 1 else None
    if manager:
        del units[0]
    at = units[0] if units else len(components) - 1
    unit = shown(components[at]) if components else "/"
    unit = f"{manager[1]}/{unit}" if manager else unit
    return WorkloadPath(kind=kind, path=path, directory="/" + "/".join(components[: at + 1]), unit=unit)


def _ambiguous(path: str) -> WorkloadPath:
    return _host(path, "ambiguous")


def shown(name: str) -> str:
    """A name as a label value: cgroup names are bytes, label values are text."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
