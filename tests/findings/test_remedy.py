"""What to type: exact, safe, and with what it needs."""

import re
import shlex
from configparser import ConfigParser
from dataclasses import replace

import pytest

from numa_exporter.findings.engines import ENGINES, engine_of
from numa_exporter.model.machine import NodeMemory
from numa_exporter.model.processes import Cgroup
from numa_exporter.model.report import Finding
from tests.builders import (
    GIB,
    MIB,
    VLLM,
    Parts,
    container,
    cpus,
    gpu,
    node,
    sample,
    task,
    topology,
    two_socket,
)
from tests.findings.machines import AWRY, full_node
from tests.findings.watch import last, of


def told(
    *, comm: str = "python3", cgroup: str = VLLM, limits: Cgroup | None = None, parts: Parts | None = None
) -> Finding:
    rank = task(1, gpus="GPU-0", mapped=AWRY, comm=comm, cgroup=cgroup)
    judged = last(lambda at: sample(parts or two_socket(), rank, at=at, cgroups=(limits,) if limits else ()))
    (found,) = of(judged, "memory_remote")
    return found


def forms(finding: Finding) -> list[str]:
    assert finding.remedy is not None
    return finding.remedy.split("\n\n")


@pytest.mark.parametrize(
    ("comm", "first"),
    [
        ("VLLM::Worker_TP", "vllm serve ... --numa-bind --numa-bind-nodes 0"),
        ("sglang::schedul", "python -m sglang.launch_server ... --numa-node 0"),
        ("trtllm-serve", "TLLM_NUMA_AWARE_WORKER_AFFINITY=1 OMPI_MCA_hwloc_base_binding_policy=none trtllm-serve ..."),
        (
            "tritonserver",
            "tritonserver ... --host-policy=gpu_0,numa-node=0 --host-policy=gpu_0,cpu-cores=0-15,32-47",
        ),
    ],
)
def test_engine_flags_come_first(comm: str, first: str) -> None:
    found = told(comm=comm)
    assert forms(found)[0] == first
    assert "flags as of 20" in (found.remedy_note or "")


def test_an_engine_is_named_only_where_it_is_evident() -> None:
    assert not any(engine.name in (told().remedy_note or "") for engine in ENGINES)


def test_every_engine_is_known_by_its_process_names() -> None:
    for engine in ENGINES:
        for comm in engine.comms:
            assert len(comm) <= 15, "the kernel keeps 15 characters"
            rank = sample(two_socket(), task(1, gpus="GPU-0", comm=comm))
            from tests.builders import placed

            assert engine_of(placed(rank).workloads[0].ranks[0]) is engine


def test_numactl_has_the_exact_home_and_its_precondition() -> None:
    found = told()
    assert forms(found)[-1] == "numactl --physcpubind=0-15,32-47 --membind=0 COMMAND"
    assert "set_mempolicy" in (found.remedy_note or "")
    assert "taskset -c 0-15,32-47 COMMAND" in (found.remedy_note or "")


def test_numactl_keeps_within_the_container() -> None:
    found = told(limits=Cgroup(path=VLLM, version=2, cpus=cpus("8-23"), mems=frozenset({0, 1})))
    assert forms(found)[-1] == "numactl --physcpubind=8-15 --membind=0 COMMAND"


def test_no_numactl_where_the_container_forbids_it() -> None:
    found = told(limits=Cgroup(path=VLLM, version=2, cpus=cpus("16-31"), mems=frozenset({1})))
    assert "numactl" not in (found.remedy or "")


def test_no_engine_flag_where_the_container_forbids_home() -> None:
    found = told(comm="sglang::schedul", limits=Cgroup(path=VLLM, version=2, cpus=cpus("16-31"), mems=frozenset({1})))
    assert "--numa-node" not in (found.remedy or "")
    assert "engine" not in (found.remedy_note or "") and "SGLang" not in (found.remedy_note or "")
    assert "AllowedCPUs=0-15,32-47" in forms(found)[0]


@pytest.mark.parametrize(
    ("cgroup", "first"),
    [
        (VLLM, "# systemctl stop vllm.service; then systemctl edit vllm.service (a drop-in of these lines)"),
        (container("a"), "# kubelet, drained and stopped: merge this into its configuration, remove /var/lib/kubelet"),
        ("/system.slice/docker-" + 64 * "a" + ".scope", "docker run --cpuset-cpus=0-15,32-47 --cpuset-mems=0 ..."),
        ("/system.slice/slurmstepd.scope/job_7/step_0/user/task_0", "sbatch --gres-flags=enforce-binding"),
        ("/user.slice/user-1000.slice/session-3.scope", "numactl --physcpubind"),
    ],
)
def test_each_runtime_has_its_form(cgroup: str, first: str) -> None:
    assert forms(told(cgroup=cgroup))[0].startswith(first)


@pytest.mark.parametrize(
    ("version", "settings"),
    [
        (2, {"allowedcpus": "0-15,32-47", "allowedmemorynodes": "0"}),
        # systemd has no cpuset controller on v1.
        (1, {"cpuaffinity": "0-15,32-47", "numapolicy": "bind", "numamask": "0"}),
    ],
)
def test_a_unit_gets_a_drop_in(version: int, settings: dict[str, str]) -> None:
    drop_in = ConfigParser()
    drop_in.read_string(forms(told(limits=Cgroup(path=VLLM, version=version)))[0])  # type: ignore[arg-type]
    assert drop_in.sections() == ["Service"]
    assert dict(drop_in["Service"]) == settings


@pytest.mark.parametrize("name", ["a;reboot.service", "x\nreboot\ny.service", "$(reboot).service"])
def test_no_name_that_a_shell_would_run_is_offered(name: str) -> None:
    """Whoever may make a cgroup chooses its name."""
    found = told(cgroup=f"/system.slice/{name}")
    assert "reboot" not in (found.remedy or "")


def test_a_name_that_systemd_escaped_reaches_it_through_a_shell() -> None:
    (first, *_) = forms(told(cgroup="/system.slice/system-vllm.slice/vllm@model\\x2d7b.service"))[0].splitlines()
    words = shlex.split(first.removeprefix("# ").partition(";")[0])
    assert words == ["systemctl", "stop", "vllm@model\\x2d7b.service"]


def test_a_full_page_cache_is_dropped_before_the_start() -> None:
    parts = two_socket()
    first, second = parts.topology.nodes
    full = NodeMemory(total_bytes=512 * GIB, free_bytes=300 * MIB, reclaimable_bytes=400 * GIB)
    found = told(parts=parts.change_topology(nodes=(replace(first, memory=full), second)))
    assert forms(found)[0].startswith("sync; echo 1 > /proc/sys/vm/drop_caches  # before the start: 400 GiB")


def test_nobody_is_told_to_drop_a_cache_that_is_not_there() -> None:
    (full,) = of(last(full_node(200.0)), "local_memory_exhausted")
    assert forms(full)[0].startswith("sync; echo 1 > /proc/sys/vm/drop_caches")
    assert (full.remedy_note or "").startswith("Drop the cache and start")
    (taken,) = of(last(full_node(200.0, cache=300 * MIB)), "local_memory_exhausted")
    assert "drop_caches" not in (taken.remedy or "")
    assert (taken.remedy_note or "").startswith("Make room there and start")


@pytest.mark.parametrize(
    ("per_second", "expected"),
    [
        (None, "Effect unknown: bytes to the GPU over PCIe are not counted."),
        (12 * MIB, "Effect unlikely: GPU 0 received only 12.0 MiB/s over PCIe in the last 5 min."),
        (4 * GIB, "GPU 0 received 4.0 GiB/s over PCIe in the last 5 min: measure before and after."),
    ],
)
def test_what_the_flow_to_the_gpu_says(per_second: int | None, expected: str) -> None:
    def counted(at: float) -> Parts:
        return two_socket().change_gpus(pcie_rx_bytes=None if per_second is None else int(per_second * at))

    rank = task(1, gpus="GPU-0", mapped=AWRY)
    (found,) = of(last(lambda at: sample(counted(at), rank, at=at)), "memory_remote")
    assert (found.remedy_note or "").endswith(expected)


def test_ranks_with_different_homes_get_no_container_limits() -> None:
    ranks = task(1, gpus="GPU-0", mapped=AWRY, comm="VLLM::Worker_TP"), task(2, gpus="GPU-7", comm="VLLM::Worker_TP")
    (found,) = of(last(lambda at: sample(two_socket(), *ranks, at=at)), "memory_remote")
    assert forms(found) == [
        "vllm serve ... --numa-bind --numa-bind-nodes 0 1",
        "numactl --physcpubind=0-15,32-47 --membind=0 COMMAND",
    ]


def bare_home() -> Parts:
    """GPU-1's home is a node of socket 1 without memory."""
    nodes = (
        node(0, "0-3", {0: 10, 1: 21, 2: 21}),
        node(1, "4-7", {0: 21, 1: 10, 2: 12}, memory=0),
        node(2, "8-11", {0: 21, 1: 12, 2: 10}),
    )
    parts = replace(two_socket(0), topology=topology(*nodes, packages={0: 0, 1: 1, 2: 1}))
    return parts.with_gpus(gpu(0, 0), gpu(1, 1))


def test_no_engine_is_told_to_bind_to_a_node_without_memory() -> None:
    rank = task(1, gpus="GPU-1", mapped={"anon": {0: 4 * GIB}}, comm="VLLM::Worker_TP")
    (found,) = of(last(lambda at: sample(bare_home(), rank, at=at)), "memory_remote")
    assert "--numa-bind" not in (found.remedy or "")
    assert "numactl --physcpubind=4-7 --membind=2 COMMAND" in forms(found)


@pytest.mark.parametrize(
    ("cgroup", "expected"),
    [("/docker/" + "ab" * 32, "docker run --cpuset-cpus=4-7 ..."), (VLLM, "AllowedCPUs=4-7")],
    ids=["docker", "unit"],
)
def test_a_memory_home_that_is_not_known_is_not_an_empty_one(cgroup: str, expected: str) -> None:
    """A home without memory and no distances: an empty list would take the container's limits away."""
    parts = bare_home()
    parts = parts.change_topology(nodes=tuple(replace(one, distances={}) for one in parts.topology.nodes))
    rank = task(1, gpus="GPU-1", cgroup=cgroup)
    limits = Cgroup(path=cgroup, version=2, cpus=cpus("0-3"), mems=frozenset({0, 2}))
    (found,) = of(last(lambda at: sample(parts, rank, at=at, cgroups=(limits,))), "cpuset_off_home")
    assert expected in (found.remedy or "")
    assert not re.search(r"mems|MemoryNodes", found.remedy or "")


def test_nothing_is_bound_to_a_node_without_memory() -> None:
    """P32: numactl refuses one."""
    parts = bare_home()
    both = task(1, gpus={"GPU-0": 40 * GIB, "GPU-1": 40 * GIB})
    (found,) = of(last(lambda at: sample(parts, both, at=at)), "process_spans_sockets")
    assert (found.remedy or "").splitlines() == [
        "CUDA_VISIBLE_DEVICES=GPU-0 numactl --physcpubind=0-3 --membind=0 COMMAND",
        "CUDA_VISIBLE_DEVICES=GPU-1 numactl --physcpubind=4-7 COMMAND",
    ]
