"""What the exporter says of ranks, held against the kernel's own answers, within stated bounds."""

from collections import Counter
from collections.abc import Iterable, Mapping

from tests.lab.observation import MIB, Json, Observation
from tests.lab.topology import ids

ROUNDING = 0.01 * MIB
"""numastat prints hundredths of a MiB."""
OVERHEAD = MIB
"""Stack, heap, program text: what a process has besides what it was told to hold."""
TOLERANCE = MIB
"""The kernel's counters of a cgroup lag behind by some pages of each CPU."""
BACKINGS = {"anon": "anon", "thp": "anon", "shm": "shmem", "memfd": "shmem"}
"""How the exporter calls what the workloads hold, where the names differ."""


def check_pages(seen: Observation, names: Iterable[str]) -> None:
    """By node, what a rank maps is what numastat sums up of its numa_maps."""
    for name in names:
        for rank, known in seen.told(name):
            assert rank["mapped_method"] == "walk", name
            total: Counter[str] = Counter()
            for by_node in rank["mapped"].values():
                total.update(by_node)
            for node, size in known["truth"]["numastat"].items():
                assert abs(total[node] - size * MIB) <= ROUNDING, (name, node, rank["mapped"], known["truth"])


def check_backings(seen: Observation, names: Iterable[str]) -> None:
    """Each backing by node is what move_pages(2) finds in the regions held, and no other backing has more."""
    for name in names:
        for rank, known in seen.told(name):
            held = held_bytes(known)
            for backing, by_node in rank["mapped"].items():
                for node, size in by_node.items():
                    surplus = size - held.get((backing, node), 0)
                    most = OVERHEAD if backing in ("anon", "file") else 0
                    assert 0 <= surplus <= most, (name, backing, node, rank["mapped"], held)
            assert {backing for backing, _ in held} <= set(rank["mapped"]), name


def held_bytes(known: Json) -> Mapping[tuple[str, str], int]:
    """(Backing, node) to bytes of the regions of a process."""
    found: Counter[tuple[str, str]] = Counter()
    for backing, pages in known["truth"]["pages"]:
        for node, count in pages.items():
            found[BACKINGS.get(backing, backing), node] += count * 4096
    return found


def check_charged(seen: Observation, names: Iterable[str], unit: int) -> None:
    """memory.numa_stat of the container (`unit` bytes), hugetlb beside it; never a process's own pages."""
    for name in names:
        truth = seen.ranks[name][0]["truth"]
        expected = _charged_v2(truth["charged"]) if unit == 1 else _charged_v1(truth["charged"])
        expected["hugetlb"] = truth["hugetlb"]["total"]
        charged = seen.workload(name)["charged"]
        assert set(charged) == set(expected), name
        for backing, by_node in expected.items():
            factor = 1 if backing == "hugetlb" else unit
            for node, count in by_node.items():
                assert abs(charged[backing][node] - count * factor) <= TOLERANCE, (name, backing, node)


def _charged_v2(stat: Json) -> dict[str, Json]:
    """The kernel's file contains shmem."""
    file = {node: count - stat["shmem"][node] for node, count in stat["file"].items()}
    return {"anon": stat["anon"], "shmem": stat["shmem"], "file": file}


def _charged_v1(stat: Json) -> dict[str, Json]:
    lists = {"anon_and_shmem": "anon", "file": "file", "unevictable": "unevictable"}
    return {backing: stat[f"hierarchical_{name}"] for backing, name in lists.items()}


def check_cpusets(seen: Observation, names: Iterable[str]) -> None:
    for name in names:
        told, truth = seen.workload(name), seen.ranks[name][0]["truth"]
        assert (told["cpuset_cpus"], told["cpuset_mems"]) == (truth["cpus"], truth["mems"]), name
        assert truth["mems"] == truth["mems_allowed"], name


def check_masks(seen: Observation, names: Iterable[str]) -> None:
    """The union of what sched_getaffinity(2) says of all threads, at home and away."""
    nodes = {str(node["id"]): ids(node["cpus"]) for node in seen.document["machine"]["nodes"]}
    for name in names:
        for rank, known in seen.told(name):
            allowed = set().union(*known["truth"]["affinities"].values())
            home = {cpu for node in rank["home"] for cpu in nodes[str(node)]}
            expected = {"local": len(allowed & home), "remote": len(allowed - home)}
            assert rank["allowed_cpus"] == expected, name


def check_cpu_time(seen: Observation, name: str, node: str) -> None:
    """All on one node, and no more than utime + stime grew meanwhile."""
    ((rank, known),) = seen.told(name)
    spent = known["truth"]["cpu_seconds"] - known["truth"]["cpu_seconds_before"]
    (used,) = (seconds for at, seconds in rank["cpu_seconds_total"].items() if at == node)
    assert 0 < used <= spent, (used, spent)
    assert sum(rank["cpu_seconds_total"].values()) == used
