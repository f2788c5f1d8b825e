"""The kubelet's command line: a flag beats the configuration file.

kubernetes cmd/kubelet/app/options/options.go; /proc/PID/cmdline, arguments ending in NUL::

    /usr/bin/kubelet --config=/var/lib/kubelet/config.yaml --topology-manager-policy single-numa-node

No units. Only of a process that is a kubelet and nothing else: k3s and RKE2 run it inside of theirs.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from numa_exporter.formats import idlist
from numa_exporter.formats.kubelet_config import KubeletConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletFlags:
    """``config`` and ``config_dir`` say where the files lie; ``settings`` is what the flags set themselves."""

    config: str | None
    config_dir: str | None
    settings: KubeletConfig


def parse(data: bytes, path: str) -> KubeletFlags | None:
    """None for a process that is no kubelet. ParseError for a CPU list that is none."""
    arguments = data.decode("utf-8", "replace").split("\0")
    if arguments[0].rpartition("/")[2] != "kubelet":
        return None
    flags = _flags(arguments[1:])
    cpus = flags.get("reserved-cpus")
    return KubeletFlags(
        config=flags.get("config"),
        config_dir=flags.get("config-dir"),
        settings=KubeletConfig(
            cpu_manager_policy=flags.get("cpu-manager-policy"),
            cpu_manager_policy_options=_options(flags.get("cpu-manager-policy-options")),
            memory_manager_policy=flags.get("memory-manager-policy"),
            topology_manager_policy=flags.get("topology-manager-policy"),
            topology_manager_scope=flags.get("topology-manager-scope"),
            topology_manager_policy_options=_options(flags.get("topology-manager-policy-options")),
            reserved_system_cpus=idlist.parse(cpus.encode(), path) if cpus else None,
            cgroup_driver=flags.get("cgroup-driver"),
            cgroup_root=flags.get("cgroup-root"),
        ),
    )


def _flags(arguments: list[str]) -> Mapping[str, str]:
    """--name=value and --name value; the last one of a name counts."""
    found: dict[str, str] = {}
    for at, argument in enumerate(arguments):
        if not argument.startswith("--"):
            continue
        name, equals, value = argument[2:].partition("=")
        following = arguments[at + 1] if at + 1 < len(arguments) else ""
        found[name] = value if equals or following.startswith("--") else following
    return {name: value for name, value in found.items() if value}


def _options(text: str | None) -> Mapping[str, str]:
    pairs = (pair.partition("=") for pair in (text or "").split(",") if pair)
    return {name: value for name, _, value in pairs}
