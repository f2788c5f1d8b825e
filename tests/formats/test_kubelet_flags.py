import pytest

from numa_exporter.formats import kubelet_flags
from numa_exporter.formats.kubelet_flags import KubeletFlags
from numa_exporter.formats.parse_error import ParseError


def parse(*arguments: str) -> KubeletFlags | None:
    return kubelet_flags.parse(b"".join(argument.encode() + b"\0" for argument in arguments), "/proc/7/cmdline")


def flags(*arguments: str) -> KubeletFlags:
    found = parse("/usr/bin/kubelet", *arguments)
    assert found is not None
    return found


def test_both_spellings_and_the_last_one_counts() -> None:
    found = flags("--topology-manager-policy", "restricted", "--config=/a", "--topology-manager-policy=none", "--v=4")
    assert (found.config, found.settings.topology_manager_policy) == ("/a", "none")


def test_what_is_not_set_is_unknown() -> None:
    found = flags("--fail-swap-on", "--config-dir=/d", "--cgroup-root=")
    assert (found.config, found.config_dir) == (None, "/d")
    assert (found.settings.cpu_manager_policy, found.settings.cgroup_root) == (None, None)


def test_options_and_cpus() -> None:
    settings = flags("--cpu-manager-policy-options=full-pcpus-only=true,x=1", "--reserved-cpus=0-1,4").settings
    assert settings.cpu_manager_policy_options == {"full-pcpus-only": "true", "x": "1"}
    assert settings.reserved_system_cpus == {0, 1, 4}


@pytest.mark.parametrize("command", ["k3s", "/usr/bin/kubelet-wrapper", ""])
def test_another_process_is_none(command: str) -> None:
    assert parse(command, "server", "--token=x") is None


def test_a_cpu_list_that_is_none() -> None:
    with pytest.raises(ParseError):
        flags("--reserved-cpus=all")
