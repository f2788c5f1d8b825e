"""The names that the kubelet gives to a pod's log directory and to the links beside it.

kubernetes pkg/kubelet/kuberuntime/{helpers,legacy}.go::

    /var/log/pods/prod_llm-0_068e8fa0-9213-11e7-a01f-507b9d4141fa/vllm/0.log
    /var/log/containers/llm-0_prod_vllm-40af7cdcbe507acad47a5a62025743ad3ddc6ab93b77b21363aa1c1d641047c9.log

No units. Namespaces, pods and containers are DNS names: none holds an underscore. The UID is the one of the cgroup,
which for a static pod is the hash of its manifest.
"""

import re
from dataclasses import dataclass

_DIRECTORY = re.compile(r"(?P<namespace>[^_]+)_(?P<pod>[^_]+)_(?P<uid>[^_]+)")
_LINK = re.compile(r"(?P<pod>[^_]+)_(?P<namespace>[^_]+)_(?P<container>[^_]+)-(?P<id>[0-9a-f]{64})\.log")


@dataclass(frozen=True, slots=True, kw_only=True)
class PodDirectory:
    """``uid`` as written."""

    namespace: str
    pod: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerLink:
    """The whole identity of a container."""

    namespace: str
    pod: str
    container: str
    container_id: str


def parse_directory(name: str) -> PodDirectory | None:
    """An entry of /var/log/pods; None for anything else that lies there."""
    match = _DIRECTORY.fullmatch(name)
    return match and PodDirectory(namespace=match["namespace"], pod=match["pod"], uid=match["uid"])


def parse_link(name: str) -> ContainerLink | None:
    """An entry of /var/log/containers; None for anything else that lies there."""
    match = _LINK.fullmatch(name)
    return match and ContainerLink(
        namespace=match["namespace"], pod=match["pod"], container=match["container"], container_id=match["id"]
    )
