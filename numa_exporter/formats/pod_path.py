"""Where the kubelet puts a pod's cgroup.

pkg/kubelet/cm: cgroup_manager_linux.go and pod_container_manager_linux.go, for its two drivers::

    /kubepods/burstable/pod5a89bcaa-3509-4375-83e1-b9e7a5712123/a069…                           cgroupfs
    /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod5a89bcaa_3509_….slice/crio-…  systemd
    /kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-podc6a7bc8c_….slice/…                 a cgroupRoot
    /kubepods/burstable/podb53dfa9e2dc9b890f7fadb2770857b03/40c0…                               a static pod
    /system.slice/containerd.service/kubepods-podb416….slice:cri-containerd:1753…               drivers mixed up
    /../../burstable/pod5a89bcaa-…/a069…                                                        cgroup namespace

No units. A Guaranteed pod has no QoS level. A static pod's UID is the hash of its manifest.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_CGROUPFS = re.compile(r"pod(?P<uid>[0-9A-Za-z][0-9A-Za-z-]*)")
_SYSTEMD = re.compile(
    r"(?P<parent>(?:.+-)?kubepods(?:-(?P<qos>burstable|besteffort))?)-pod(?P<uid>\w+)\.slice", re.ASCII
)
_UNMISTAKABLE = re.compile(r"pod(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})", re.IGNORECASE)
_MIXED_UP = re.compile(r"(?P<slice>.+\.slice):(?P<prefix>[^:]+):(?P<id>[^:]+)")
_QOS = {"burstable": "Burstable", "besteffort": "BestEffort", None: "Guaranteed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """``at`` is the position of the pod's own component; ``uid`` as the API writes it (a static pod's: no dashes)."""

    at: int
    uid: str
    qos_class: str | None


def components(path: str) -> list[str]:
    """A path's components. ``a.slice:crio:ID`` becomes what was meant, ``a.slice:`` and ``crio-ID``."""
    found = []
    for component in filter(None, path.split("/")):
        mixed_up = _MIXED_UP.fullmatch(component)
        if mixed_up:
            found += [mixed_up["slice"] + ":", f"{mixed_up['prefix']}-{mixed_up['id']}"]
        else:
            found.append(component)
    return found


def directory(path: str, parts: Sequence[str], at: int) -> str:
    """The path down to its component ``at``, counted as ``components`` does."""
    split = sum(part.endswith(".slice:") for part in parts[:at])
    return "/" + "/".join(list(filter(None, path.split("/")))[: at + 1 - split])


def innermost(parts: Sequence[str]) -> Pod | None:
    """The innermost pod that stands where the kubelet puts them."""
    for at in reversed(range(len(parts))):
        pod = _systemd_pod(parts, at) or _cgroupfs_pod(parts, at)
        if pod is not None:
            return pod
    return None


def claims_pod(component: str) -> bool:
    """True if the component alone looks like a pod's cgroup, wherever it stands."""
    return bool(_UNMISTAKABLE.fullmatch(component) or _SYSTEMD.fullmatch(component))


def _systemd_pod(parts: Sequence[str], at: int) -> Pod | None:
    match = _SYSTEMD.fullmatch(parts[at].removesuffix(":"))
    if match is None:
        return None
    # A slice's name repeats its parents' (systemd.slice(5)); above a cgroup namespace's root nothing has a name.
    in_place = at == 0 or parts[at - 1] in ("..", match["parent"] + ".slice")
    if not in_place and not parts[at].endswith(":"):
        return None
    return Pod(at=at, uid=match["uid"].replace("_", "-").lower(), qos_class=_QOS[match["qos"]])


def _cgroupfs_pod(parts: Sequence[str], at: int) -> Pod | None:
    match = _CGROUPFS.fullmatch(parts[at])
    if match is None or at == 0:
        return None
    uid, parent = match["uid"].lower(), parts[at - 1]
    if parent == "kubepods":
        return Pod(at=at, uid=uid, qos_class=_QOS[None])
    if parent in ("burstable", "besteffort") and at > 1 and parts[at - 2] in ("kubepods", ".."):
        return Pod(at=at, uid=uid, qos_class=_QOS[parent])
    if parent == ".." and _UNMISTAKABLE.fullmatch(parts[at]):
        return Pod(at=at, uid=uid, qos_class=None)
    return None
