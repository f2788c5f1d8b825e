"""Cpusets and charged bytes of containers under v1, v2 and hybrid layouts."""

from dataclasses import replace

import pytest

from numa_exporter.formats import workload_path
from numa_exporter.model.processes import Cgroup, Cgroups, Processes
from numa_exporter.sources.cgroups import CgroupsReader
from numa_exporter.sources.source import Outcome
from tests.fakehost import DENIED, GONE, Files, fake_host
from tests.sources.proc_tree import CONTAINER, V2, processes_of, sample

HERE = "/sys/fs/cgroup" + CONTAINER
V1 = (
    "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "36 31 0:33 / /sys/fs/cgroup/hugetlb rw - cgroup cgroup rw,hugetlb\n"
)
DOCKER = "/docker/" + "c" * 64


def members(container: str, cpuset: str | None, directory: str = CONTAINER) -> Processes:
    return processes_of(
        [42], cgroup=workload_path.classify_path(directory), container_cgroup=container, cpuset_cgroup=cpuset
    )


def look(files: Files, processes: Processes, mounts: str = V2) -> Outcome[Cgroups]:
    host = fake_host({"/proc/1/mountinfo": mounts, **files})
    return CgroupsReader().read(host, sample(host, processes=processes))


def only(outcome: Outcome[Cgroups]) -> Cgroup:
    assert outcome.value is not None
    (found,) = outcome.value.by_path.values()
    return found


def test_v2_counts_every_byte_once() -> None:
    """The kernel's file contains shmem."""
    files = {
        f"{HERE}/cpuset.cpus.effective": "0-15,32-47\n",
        f"{HERE}/cpuset.mems.effective": "0-1\n",
        f"{HERE}/memory.numa_stat": "anon N0=100 N1=200\nfile N0=70 N1=5\nshmem N0=30 N1=9\nslab N0=1 N1=1\n",
        f"{HERE}/hugetlb.2MB.numa_stat": "total=4194304 N0=4194304 N1=0\n",
        f"{HERE}/hugetlb.1GB.numa_stat": "total=1073741824 N0=0 N1=1073741824\n",
        f"{HERE}/hugetlb.1GB.current": "0\n",
    }
    outcome = look(files, members(HERE, HERE))
    found = only(outcome)
    assert outcome.failure is None and outcome.value is not None and outcome.value.layout == "v2"
    assert found.version == 2
    assert found.cpus == frozenset(range(16)) | frozenset(range(32, 48))
    assert found.mems == frozenset({0, 1})
    assert found.charged == {
        "anon": {0: 100, 1: 200},
        "file": {0: 40, 1: 0},
        "shmem": {0: 30, 1: 9},
        "hugetlb": {0: 4194304, 1: 1073741824},
    }
    assert found.cpu_seconds is None


def test_hugetlb_of_memory_numa_stat_is_not_counted_again() -> None:
    files = {
        f"{HERE}/memory.numa_stat": "anon N0=1\nfile N0=0\nshmem N0=0\nhugetlb N0=2097152\n",
        f"{HERE}/hugetlb.2MB.numa_stat": "total=2097152 N0=2097152\n",
    }
    charged = only(look(files, members(HERE, HERE))).charged
    assert charged is not None and charged["hugetlb"] == {0: 2097152}


def test_what_a_cgroup_has_not_is_unknown_not_zero() -> None:
    """A plain systemd service: neither memory nor cpuset files of its own, its cpuset is an ancestor's."""
    found = only(look({"/sys/fs/cgroup/cpuset.cpus.effective": "0-3\n"}, members(HERE, "/sys/fs/cgroup")))
    assert (found.cpus, found.mems, found.charged) == (frozenset(range(4)), None, None)
    without_hugetlb = only(look({f"{HERE}/memory.numa_stat": "anon N0=1\n"}, members(HERE, None)))
    assert without_hugetlb.charged == {"anon": {0: 1}}
    assert without_hugetlb.cpus is None


V1_FILES = {
    "/proc/42/cgroup": f"4:memory:{DOCKER}/init.scope\n3:cpuset:/\n2:cpu,cpuacct:{DOCKER}\n5:hugetlb:{DOCKER}\n",
    f"/sys/fs/cgroup/memory{DOCKER}/memory.numa_stat": (
        "total=9 N0=9 N1=0\nfile=2 N0=2 N1=0\nanon=3 N0=3 N1=0\nunevictable=4 N0=4 N1=0\n"
        "hierarchical_total=30 N0=10 N1=20\nhierarchical_file=5 N0=1 N1=4\nhierarchical_anon=10 N0=3 N1=7\n"
        "hierarchical_unevictable=4 N0=4 N1=0\n"
    ),
    f"/sys/fs/cgroup/hugetlb{DOCKER}/hugetlb.2MB.numa_stat": "total=2097152 N0=0 N1=2097152\n",
    f"/sys/fs/cgroup/cpu,cpuacct{DOCKER}/cpuacct.usage_percpu": "1500000000 0 250000000 0 \n",
    "/sys/devices/system/cpu/possible": "0-3\n",
    "/sys/fs/cgroup/cpuset/cpuset.effective_cpus": "0-3\n",
    "/sys/fs/cgroup/cpuset/cpuset.effective_mems": "0-1\n",
}


def test_v1_counts_lru_lists_in_pages_and_cpu_time_exactly() -> None:
    outcome = look(V1_FILES, members(f"/sys/fs/cgroup/memory{DOCKER}", "/sys/fs/cgroup/cpuset", DOCKER), V1)
    found = only(outcome)
    assert outcome.failure is None and outcome.value is not None and outcome.value.layout == "v1"
    assert found.version == 1
    assert (found.cpus, found.mems) == (frozenset(range(4)), frozenset({0, 1}))
    assert found.charged == {
        "anon_and_shmem": {0: 3 * 4096, 1: 7 * 4096},
        # The subtree's figure lags on old kernels: never less than the cgroup's own.
        "file": {0: 2 * 4096, 1: 4 * 4096},
        "unevictable": {0: 4 * 4096, 1: 0},
        "hugetlb": {0: 0, 1: 2097152},
    }
    assert found.cpu_seconds == {0: 1.5, 1: 0.0, 2: 0.25, 3: 0.0}


def test_v1_a_container_that_moves_is_read_in_its_new_place() -> None:
    def at(place: str, nanoseconds: int) -> Files:
        return {
            "/proc/42/cgroup": f"4:memory:{DOCKER}\n3:cpu,cpuacct:{place}\n",
            f"/sys/fs/cgroup/cpu,cpuacct{place}/cpuacct.usage_percpu": f"{nanoseconds}\n",
        }

    first = {"/proc/1/mountinfo": V1, "/sys/devices/system/cpu/possible": "0\n", **at("/here", 10**9)}
    host = fake_host(first, later=[{}, at("/there", 2 * 10**9)])
    reader = CgroupsReader()
    container = f"/sys/fs/cgroup/memory{DOCKER}"
    found = []
    while True:
        found.append(only(reader.read(host, sample(host, processes=members(container, None, DOCKER)))).cpu_seconds)
        if not host.advance():
            break
    assert found == [{0: 1.0}, {0: 1.0}, {0: 2.0}]


def test_v1_pages_are_the_machines_pages() -> None:
    host = fake_host({"/proc/1/mountinfo": V1, **V1_FILES})
    processes = members(f"/sys/fs/cgroup/memory{DOCKER}", "/sys/fs/cgroup/cpuset", DOCKER)
    made = sample(host, processes=processes)
    assert made.topology is not None
    arm = replace(made, topology=replace(made.topology, page_bytes=65536))
    charged = only(CgroupsReader().read(host, arm)).charged
    assert charged is not None and charged["anon_and_shmem"] == {0: 3 * 65536, 1: 7 * 65536}


def test_a_hybrid_host_has_its_controllers_on_either_side() -> None:
    mounts = V1.replace("33 31", "99 31") + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    outcome = look(V1_FILES, members(f"/sys/fs/cgroup/memory{DOCKER}", "/sys/fs/cgroup/cpuset", DOCKER), mounts)
    assert outcome.value is not None and outcome.value.layout == "hybrid"
    assert only(outcome).version == 1


def test_one_entry_for_a_container_and_the_outermost_cpuset_speaks_for_it() -> None:
    nested = members(HERE, f"{HERE}/inner").processes[0]
    outer = replace(members(HERE, HERE).processes[0], key=nested.key._replace(pid=43))
    files = {f"{HERE}/cpuset.cpus.effective": "0-3\n", f"{HERE}/inner/cpuset.cpus.effective": "1\n"}
    assert only(look(files, Processes(processes=(nested, outer)))).cpus == frozenset(range(4))


@pytest.mark.parametrize(("content", "word"), [("anon N0=many\n", "garbled"), (DENIED, "denied")])
def test_a_bad_file_fails_alone(content: str, word: str) -> None:
    files = {f"{HERE}/memory.numa_stat": content, f"{HERE}/cpuset.cpus.effective": "0-3\n"}
    outcome = look(files, members(HERE, HERE))
    assert outcome.failure is not None and outcome.failure.word == word
    assert outcome.counts == {word: 1}
    assert only(outcome).charged is None and only(outcome).cpus == frozenset(range(4))


def test_a_container_that_ended_meanwhile() -> None:
    outcome = look({"/proc/42/cgroup": GONE}, members(f"/sys/fs/cgroup/memory{DOCKER}", None, DOCKER), V1)
    assert outcome.failure is None and outcome.counts == {"gone": 1}
    assert only(outcome).charged is None


def test_no_processes_no_containers() -> None:
    host = fake_host({"/proc/1/mountinfo": V2})
    outcome = CgroupsReader().read(host, sample(host))
    assert outcome.value == Cgroups(by_path={}, layout="v2")
