import json
from pathlib import Path

import pytest

from numa_exporter.formats import kubelet_config
from numa_exporter.formats.kubelet_config import merged, parse
from numa_exporter.formats.parse_error import ParseError
from tests.modules import need_module

YAML = b"""
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: systemd
cpuManagerPolicy: static
cpuManagerPolicyOptions:
  full-pcpus-only: "true"
memoryManagerPolicy: Static
reservedSystemCPUs: 0-1,32
topologyManagerPolicy: single-numa-node
topologyManagerScope: pod
unknownKey: [1, 2]
"""


def test_a_configuration_file() -> None:
    need_module("yaml")
    config = kubelet_config.parse(YAML, "config.yaml")
    assert (config.cpu_manager_policy, config.memory_manager_policy) == ("static", "Static")
    assert (config.topology_manager_policy, config.topology_manager_scope) == ("single-numa-node", "pod")
    assert config.cpu_manager_policy_options == {"full-pcpus-only": "true"}
    assert config.reserved_system_cpus == {0, 1, 32}
    assert (config.cgroup_driver, config.cgroup_root, config.topology_manager_policy_options) == ("systemd", None, {})


def test_what_is_not_set_is_unknown() -> None:
    config = kubelet_config.parse(b'{"kind": "KubeletConfiguration"}', "config.json")
    assert (config.cpu_manager_policy, config.reserved_system_cpus) == (None, None)


def test_configz_needs_no_kind_and_no_yaml() -> None:
    data = json.dumps({"kubeletconfig": {"cpuManagerPolicy": "none", "reservedSystemCPUs": ""}}).encode()
    config = kubelet_config.parse(data, "/configz")
    assert (config.cpu_manager_policy, config.reserved_system_cpus) == ("none", None)


def test_an_unquoted_cpu_is_a_cpu() -> None:
    need_module("yaml")
    data = b"kind: KubeletConfiguration\nreservedSystemCPUs: 2\n"
    assert kubelet_config.parse(data, "config.yaml").reserved_system_cpus == {2}


@pytest.mark.parametrize(
    "data",
    [
        b"kind: Cluster\n",
        b"cpuManagerPolicy: static\n",
        b"- a\n",
        b"",
        b"kind: [\n",
        b"kind: KubeletConfiguration\ncpuManagerPolicy: {}\n",
        b"kind: KubeletConfiguration\nreservedSystemCPUs: all\n",
        b'{"kind": "KubeletConfiguration"',
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    need_module("yaml")
    with pytest.raises(ParseError):
        kubelet_config.parse(data, "config.yaml")


def test_a_real_file(shared_data: Path) -> None:
    need_module("yaml")
    config = kubelet_config.parse((shared_data / "kubelet/config/rte-kubeletconf.yaml").read_bytes(), "config.yaml")
    assert (config.cpu_manager_policy, config.topology_manager_policy) == ("static", "single-numa-node")
    assert config.reserved_system_cpus == {1, 3}
    assert config.memory_manager_policy is None


def test_a_real_object_around_the_configuration_is_not_it(shared_data: Path) -> None:
    yaml = need_module("yaml")
    data = (shared_data / "kubelet/config/numaresources-kubeletconfig.yaml").read_bytes()
    with pytest.raises(ParseError):
        kubelet_config.parse(data, "kubeletconfig.yaml")
    inner = {"kubeletconfig": yaml.safe_load(data)["spec"]["kubeletConfig"]}
    config = kubelet_config.parse(json.dumps(inner).encode(), "/configz")
    assert (config.memory_manager_policy, config.topology_manager_scope) == ("Static", "pod")
    assert config.reserved_system_cpus == {0, 1}


def test_what_a_later_one_sets_beats_the_earlier_ones() -> None:
    first = parse(
        b"kind: KubeletConfiguration\ntopologyManagerPolicy: none\ncpuManagerPolicyOptions: {a: x, b: x}\n", "1"
    )
    later = parse(
        b"kind: KubeletConfiguration\ntopologyManagerPolicy: restricted\ncpuManagerPolicyOptions: {b: y}\n", "2"
    )
    both = merged(first, later, parse(b"kind: KubeletConfiguration\nreservedSystemCPUs: 0-1\n", "3"))
    assert (both.topology_manager_policy, both.memory_manager_policy) == ("restricted", None)
    assert both.cpu_manager_policy_options == {"a": "x", "b": "y"}
    assert both.reserved_system_cpus == {0, 1}
