"""What to type: exact, safe, and with what it needs."""

from dataclasses import replace

import pytest

from numa_exporter.findings.engines import ENGINES, engine_of
from numa_exporter.model.machine import NodeMemory
from numa_exporter.model.processes import Cgroup
from numa_exporter.model.report import Finding
from tests.builders import GIB, MIB, VLLM, Parts, container, cpus, sample, task, two_socket
from tests.findings.machines import AWRY
from tests.findings.watch import last, of


def told(
    *, comm: str = "python3", cgroup: str = VLLM, limits: Cgroup | None = None, parts: Parts | None = None
) -> Finding:
    rank = task(1, gpus="GPU-0", mapped=AWRY, comm=comm, cgroup=cgroup)
    judged = last(lambda at: sample(parts or two_socket(), rank, at=at, cgroups=(limits,) if limits else ()))
    (found,) = of(judged, "memory_remote")
    return found


def lines(finding: Finding) -> list[str]:
    assert finding.remedy is not None
    return finding.remedy.split("\n")


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
    assert lines(found)[0] == first
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
    assert lines(found)[-1] == "# or: numactl --physcpubind=0-15,32-47 --membind=0 COMMAND"
    assert "set_mempolicy" in (found.remedy_note or "")
    assert "taskset -c 0-15,32-47 COMMAND" in (found.remedy_note or "")


def test_numactl_keeps_within_the_container() -> None:
    found = told(limits=Cgroup(path=VLLM, version=2, cpus=cpus("8-23"), mems=frozenset({0, 1})))
    assert lines(found)[-1] == "# or: numactl --physcpubind=8-15 --membind=0 COMMAND"


def test_no_numactl_where_the_container_forbids_it() -> None:
    found = told(limits=Cgroup(path=VLLM, version=2, cpus=cpus("16-31"), mems=frozenset({1})))
    assert "numactl" not in (found.remedy or "")


def test_no_engine_flag_where_the_container_forbids_home() -> None:
    found = told(comm="sglang::schedul", limits=Cgroup(path=VLLM, version=2, cpus=cpus("16-31"), mems=frozenset({1})))
    assert "--numa-node" not in (found.remedy or "")
    assert "AllowedCPUs=0-15,32-47" in lines(found)[0]


@pytest.mark.parametrize(
    ("cgroup", "first"),
    [
        (VLLM, "systemctl stop vllm.service; systemctl set-property vllm.service AllowedCPUs=0-15,32-47"),
        (container("a"), "kubelet: cpuManagerPolicy: static"),
        ("/system.slice/slurmstepd.scope/job_7/step_0/user/task_0", "sbatch --gres-flags=enforce-binding"),
        ("/user.slice/user-1000.slice/session-3.scope", "numactl --physcpubind"),
    ],
)
def test_each_runtime_has_its_form(cgroup: str, first: str) -> None:
    assert lines(told(cgroup=cgroup))[0].startswith(first)


def test_no_systemd_limits_on_cgroup_v1() -> None:
    assert "systemctl" not in (told(limits=Cgroup(path=VLLM, version=1)).remedy or "")


def test_a_full_page_cache_is_dropped_before_the_start() -> None:
    parts = two_socket()
    first, second = parts.topology.nodes
    full = NodeMemory(total_bytes=512 * GIB, free_bytes=300 * MIB, reclaimable_bytes=400 * GIB)
    found = told(parts=parts.change_topology(nodes=(replace(first, memory=full), second)))
    assert lines(found)[0].startswith("sync; echo 1 > /proc/sys/vm/drop_caches  # before the start: 400 GiB")


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
    assert lines(found) == [
        "vllm serve ... --numa-bind --numa-bind-nodes 0 1",
        "# or: numactl --physcpubind=0-15,32-47 --membind=0 COMMAND",
    ]
