"""The kubelet's configuration: the policies under which it grants CPUs, memory and devices.

kubernetes staging/src/k8s.io/kubelet/config/v1beta1/types.go; /var/lib/kubelet/config.yaml is YAML, and
``/configz`` wraps the same object as JSON in ``{"kubeletconfig": {…}}``::

    kind: KubeletConfiguration
    cpuManagerPolicy: static
    cpuManagerPolicyOptions: {full-pcpus-only: "true"}
    topologyManagerPolicy: single-numa-node
    topologyManagerScope: pod
    reservedSystemCPUs: 1,3

No units. A key that is missing means the kubelet's default, or a command line flag that this file cannot show:
it is None here. Only ``/configz`` tells what is in force.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numa_exporter.formats import idlist
from numa_exporter.formats.json_object import Object, load, member, members, of_kind
from numa_exporter.formats.parse_error import ParseError


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletConfig:
    """None (and an empty mapping) where the file does not set the key."""

    cpu_manager_policy: str | None
    cpu_manager_policy_options: Mapping[str, str]
    memory_manager_policy: str | None
    topology_manager_policy: str | None
    topology_manager_scope: str | None
    topology_manager_policy_options: Mapping[str, str]
    reserved_system_cpus: frozenset[int] | None
    cgroup_driver: str | None
    cgroup_root: str | None


def parse(data: bytes, path: str) -> KubeletConfig:
    """Raises ParseError for anything but a KubeletConfiguration."""
    document = load(data, path) if data.lstrip().startswith(b"{") else _yaml(data, path)
    config = member(document, "kubeletconfig", dict, path) or document
    if config is document and document.get("kind") != "KubeletConfiguration":
        raise ParseError(path, 1, f"kind: {document.get('kind')}".encode(), "kind: KubeletConfiguration")

    def text(key: str) -> str | None:
        return member(config, key, str, path) or None

    return KubeletConfig(
        cpu_manager_policy=text("cpuManagerPolicy"),
        cpu_manager_policy_options=_options(config, "cpuManagerPolicyOptions", path),
        memory_manager_policy=text("memoryManagerPolicy"),
        topology_manager_policy=text("topologyManagerPolicy"),
        topology_manager_scope=text("topologyManagerScope"),
        topology_manager_policy_options=_options(config, "topologyManagerPolicyOptions", path),
        reserved_system_cpus=_cpus(config.get("reservedSystemCPUs"), path),
        cgroup_driver=text("cgroupDriver"),
        cgroup_root=text("cgroupRoot"),
    )


def merged(*configs: KubeletConfig) -> KubeletConfig:
    """One configuration of several: what a later one sets beats the earlier ones."""

    def last(key: str) -> Any:
        return next((value for one in reversed(configs) if (value := getattr(one, key)) is not None), None)

    def options(key: str) -> Mapping[str, str]:
        return {name: value for one in configs for name, value in getattr(one, key).items()}

    return KubeletConfig(
        cpu_manager_policy=last("cpu_manager_policy"),
        cpu_manager_policy_options=options("cpu_manager_policy_options"),
        memory_manager_policy=last("memory_manager_policy"),
        topology_manager_policy=last("topology_manager_policy"),
        topology_manager_scope=last("topology_manager_scope"),
        topology_manager_policy_options=options("topology_manager_policy_options"),
        reserved_system_cpus=last("reserved_system_cpus"),
        cgroup_driver=last("cgroup_driver"),
        cgroup_root=last("cgroup_root"),
    )


def _options(config: Object, key: str, path: str) -> dict[str, str]:
    return dict(members(member(config, key, dict, path), str, path))


def _cpus(value: object, path: str) -> frozenset[int] | None:
    # An unquoted `2` is a number to YAML; the kubelet's decoder makes it the string it expects, and so do we.
    if value is None or value == "":
        return None
    return idlist.parse(str(value).encode(), path)


def _yaml(data: bytes, path: str) -> dict[str, Any]:
    import yaml  # here, because only hosts with a kubelet have and need it

    try:
        value = yaml.safe_load(data)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise ParseError(path, mark.line + 1 if mark else 1, data, "YAML") from error
    except (ValueError, RecursionError) as error:  # a day that is none, thousands of digits, brackets of thousands deep
        raise ParseError(path, 1, data, f"YAML ({error})") from error
    return of_kind(value, dict, "the file", path)
