"""Cgroup paths under every layout, and from inside a private cgroup namespace."""

import pytest

from numa_exporter.formats import mountinfo, proc_cgroup
from numa_exporter.sources import cgroup_tree
from numa_exporter.sources.cgroup_tree import CgroupTree
from numa_exporter.sources.host import Host
from tests.fakehost import ABSENT, DENIED, fake_host
from tests.sources.proc_tree import V2, stat

V1_MEMORY = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
V1_CPU = "36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
V1_SYSTEMD = "37 31 0:34 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
UNIFIED = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"


def tree(text: str) -> CgroupTree:
    return cgroup_tree.tree_of(mountinfo.parse(text.encode(), "mountinfo"))


def directory(host: Host, mounts: str, line: str) -> str | None:
    """The directory behind a line of /proc/PID/cgroup."""
    found = tree(mounts).locate(host, proc_cgroup.parse(line.encode(), "cgroup"))[0]
    return cgroup_tree.directory(found.hierarchy, found.membership.path) if found.hierarchy else None


@pytest.mark.parametrize(
    ("mounts", "layout"),
    [
        (V2, "v2"),
        (V1_MEMORY + V1_CPU + V1_SYSTEMD, "v1"),
        (V1_MEMORY + V1_SYSTEMD + UNIFIED, "hybrid"),
        (V1_SYSTEMD + UNIFIED, "v2"),
        ("22 27 0:21 / /proc rw - proc proc rw\n", "none"),
    ],
)
def test_the_layout_follows_from_the_mounts(mounts: str, layout: str) -> None:
    assert tree(mounts).layout == layout


def test_a_controller_is_where_it_is_mounted() -> None:
    hybrid = tree(V1_MEMORY + V1_CPU + UNIFIED)
    names = [hybrid.controller(name) for name in ("memory", "cpuacct", "hugetlb")]
    assert [found and found.mount_point for found in names] == [
        "/sys/fs/cgroup/memory",
        "/sys/fs/cgroup/cpu,cpuacct",
        "/sys/fs/cgroup/unified",
    ]
    assert tree(V1_MEMORY).controller("cpuset") is None


def test_plain_paths_in_the_host_namespace() -> None:
    host = fake_host({})
    assert directory(host, V2, "0::/system.slice/vllm.service\n") == "/sys/fs/cgroup/system.slice/vllm.service"
    assert directory(host, V2, "0::/\n") == "/sys/fs/cgroup"
    assert directory(host, V1_MEMORY, "4:memory:/docker/x\n") == "/sys/fs/cgroup/memory/docker/x"
    assert directory(host, V1_MEMORY, "9:pids:/docker/x\n") is None


def test_a_v1_mount_that_shows_only_the_containers_own_subtree() -> None:
    own = "35 31 0:32 /docker/x /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
    host = fake_host({})
    assert directory(host, own, "4:memory:/docker/x/inner\n") == "/sys/fs/cgroup/memory/inner"
    assert directory(host, own, "4:memory:/docker/x\n") == "/sys/fs/cgroup/memory"
    assert directory(host, own, "4:memory:/docker/xy\n") is None


def test_a_private_namespace_that_shows_only_itself() -> None:
    """The mount's root is "/": nothing outside of our own subtree is to be seen."""
    assert directory(fake_host({}), V2, "0::/../other\n") is None


PRIVATE = "31 23 0:27 /../../.. /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n"
OWN = "/sys/fs/cgroup/kubepods.slice/pod1.slice/agent.scope"


def private_host(**changes: object) -> Host:
    """An agent three levels down in a namespace of its own, with the host's hierarchy mounted."""
    files = {
        "/proc/self/stat": stat(42),
        "/proc/self/cgroup": "0::/\n",
        "/sys/fs/cgroup/cgroup.procs": "1\n2\n",
        "/sys/fs/cgroup/memory.stat": "",
        "/sys/fs/cgroup/system.slice/cgroup.procs": DENIED,
        "/sys/fs/cgroup/kubepods.slice/cgroup.procs": "",
        "/sys/fs/cgroup/kubepods.slice/pod1.slice/cgroup.procs": ABSENT,
        f"{OWN}/cgroup.procs": "41\n42\n",
        "/sys/fs/cgroup/kubepods.slice/pod2.slice/cgroup.procs": "420\n",
        **changes,
    }
    return fake_host(files)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", OWN),
        ("/inner", f"{OWN}/inner"),
        ("/../sidecar.scope", "/sys/fs/cgroup/kubepods.slice/pod1.slice/sidecar.scope"),
        ("/../../pod2.slice/gpu.scope", "/sys/fs/cgroup/kubepods.slice/pod2.slice/gpu.scope"),
        ("/../../../system.slice/x.service", "/sys/fs/cgroup/system.slice/x.service"),
        ("/../../..", "/sys/fs/cgroup"),
        ("/../../../../beyond", None),
    ],
)
def test_a_private_namespace_with_the_hosts_hierarchy(path: str, expected: str | None) -> None:
    assert directory(private_host(), PRIVATE, f"0::{path}\n") == expected


def test_paths_up_to_the_mounts_root_need_no_search() -> None:
    assert directory(fake_host({}), PRIVATE, "0::/../../../a/b\n") == "/sys/fs/cgroup/a/b"


def test_an_agent_below_its_namespaces_root() -> None:
    host = private_host(**{"/proc/self/cgroup": "0::/agent.scope\n"})
    root = "31 23 0:27 /../.. /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n"
    assert directory(host, root, "0::/agent.scope/x\n") == f"{OWN}/x"
    assert directory(host, root, "0::/../pod2.slice\n") == "/sys/fs/cgroup/kubepods.slice/pod2.slice"


def test_an_agent_that_is_not_to_be_found_knows_less() -> None:
    host = private_host(**{f"{OWN}/cgroup.procs": "41\n"})
    assert directory(host, PRIVATE, "0::/../sidecar.scope\n") is None
    assert directory(host, PRIVATE, "0::/../../../a\n") == "/sys/fs/cgroup/a"


def test_the_search_is_made_once() -> None:
    found = tree(PRIVATE)
    line = proc_cgroup.parse(b"0::/../sidecar.scope\n", "cgroup")
    assert found.locate(private_host(), line) == found.locate(fake_host({}), line)


def test_mounts_come_from_init_and_else_from_ourselves() -> None:
    assert cgroup_tree.read_mounts(fake_host({"/proc/1/mountinfo": V2, "/proc/self/mountinfo": UNIFIED}))[0].root == "/"
    ours = cgroup_tree.read_mounts(fake_host({"/proc/1/mountinfo": DENIED, "/proc/self/mountinfo": UNIFIED}))
    assert ours[0].mount_point == "/sys/fs/cgroup/unified"
    assert cgroup_tree.read_mounts(fake_host({})) == ()
