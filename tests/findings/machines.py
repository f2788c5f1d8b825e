"""For each finding a machine on which it fires, and a near miss on which it is silent."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from numa_exporter.model.gpus import Gpu
from numa_exporter.model.ids import Backing, NodeSet
from numa_exporter.model.machine import Balancing, NodeMemory, NumaNode
from numa_exporter.model.processes import Cgroup
from tests.builders import (
    GIB,
    MIB,
    VLLM,
    Parts,
    Task,
    cpus,
    gb200,
    gpu,
    nic,
    sample,
    single_node,
    task,
    thread_group,
    threads,
    two_socket,
)
from tests.findings.watch import Script, under
from tests.kubernetes.machines import Node, pod_cgroup, pod_task

GOOD: Mapping[Backing, Mapping[int, int]] = {"anon": {0: 4 * GIB}}
AWRY: Mapping[Backing, Mapping[int, int]] = {"anon": {0: 3 * GIB, 1: GIB}}
HOME = "0-15,32-47"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    fires: Script
    silent: Script
    names: tuple[str, ...] = ("vllm.service", "GPU 0")


def steadily(parts: Parts, *tasks: Task, cgroups: tuple[Cgroup, ...] = ()) -> Script:
    """The same at every moment."""
    return lambda at: sample(parts, *tasks, at=at, cgroups=cgroups)


def working(cores: Mapping[int, float], parts: Parts | None = None, **fields: object) -> Script:
    """A rank on GPU-0 that uses so many cores on each node."""

    def script(at: float) -> object:
        spent = {node: share * at for node, share in cores.items()}
        return sample(parts or two_socket(), task(1, gpus="GPU-0", cpu=spent, **fields), at=at)  # type: ignore[arg-type]

    return script  # type: ignore[return-value]


def cgroup(cpu_list: str, mems: NodeSet = frozenset({0, 1})) -> Cgroup:
    where = f"/sys/fs/cgroup{VLLM}"
    return Cgroup(path=VLLM, version=2, cpus=cpus(cpu_list), mems=mems, cpuset_directory=where)


def pair(one: int, other: int) -> Script:
    """Ranks on GPU-0 and GPU-7, each with all its CPU time on one node."""

    def script(at: float) -> object:
        first = task(1, gpus="GPU-0", cpu={one: at})
        second = task(2, gpus="GPU-7", cpu={other: at})
        return sample(two_socket(), first, second, at=at)

    return script  # type: ignore[return-value]


def full_node(events_per_second: float, cache: int = 400 * GIB) -> Script:
    """Node 0 is full, of page cache to that extent, and so many allocations a second are sent away from it."""

    def script(at: float) -> object:
        parts = two_socket()
        memory = NodeMemory(total_bytes=512 * GIB, free_bytes=300 * MIB, reclaimable_bytes=cache)
        first, second = parts.topology.nodes
        first = replace(first, memory=memory, numastat={"foreign": int(1_000_000 + events_per_second * at)})
        parts = parts.change_topology(nodes=(first, replace(second, numastat={"foreign": 7})))
        return sample(parts, task(1, gpus="GPU-0", mapped=GOOD), at=at)

    return script  # type: ignore[return-value]


def coherent(cache: int, mapped: Mapping[Backing, Mapping[int, int]]) -> Script:
    """GB200: page cache on node 2, the memory of GPU-0, on which a rank with these pages computes."""
    parts = gb200()

    def with_cache(node: NumaNode) -> NumaNode:
        assert node.memory is not None
        held = cache if node.id == 2 else 0
        return replace(node, memory=replace(node.memory, reclaimable_bytes=held))

    parts = parts.change_topology(nodes=tuple(map(with_cache, parts.topology.nodes)))
    return steadily(parts, task(1, gpus="GPU-0", mapped=mapped))


def threaded(main: str, main_seconds: float, other: str, other_seconds: Mapping[int, float]) -> Script:
    """A process whose main thread has one mask and its other threads another, over windows of 15 s."""
    groups = thread_group(main, {0: main_seconds}), thread_group(other, other_seconds, main=False, count=4)
    return steadily(two_socket(), replace(task(1, gpus="GPU-0"), threads=threads(*groups)))


def interrupted(per_second: float) -> Script:
    """CPU 16, of node 1, serves nearly all interrupts of the NIC beside GPU-0."""

    def script(at: float) -> object:
        parts = two_socket()
        beside = nic(0, parts.gpus.gpus[0], {0: int(0.1 * per_second * at), 16: int(0.9 * per_second * at)})
        parts = replace(parts, devices=replace(parts.devices, devices=(beside,)))
        return sample(parts, task(1, gpus="GPU-0", cpu={0: at}), at=at)

    return script  # type: ignore[return-value]


def lanes(width: int, slot: int) -> Script:
    card = gpu(0, 0)
    assert card.function is not None
    link = replace(card.function, link_width=width, max_link_width=16, upstream_max_link_width=slot)
    return steadily(two_socket().with_gpus(replace(card, function=link)))


def balanced(mode: int) -> Script:
    return steadily(two_socket().change_topology(balancing=Balancing(mode=mode)))


def opened(*uuids: str) -> Script:
    parts = two_socket()
    parts = parts.with_gpus(*parts.gpus.gpus, nvml=False)
    return steadily(parts, task(1, gpus=dict.fromkeys(uuids), evidence="fd"))


def without_cpu(parts: Parts, cpu: int) -> Parts:
    """The CPU is offline; the node's cpulist keeps no trace of it."""
    first, second = parts.topology.nodes
    left = parts.topology.online_cpus - {cpu}
    return parts.change_topology(nodes=(replace(first, cpus=first.cpus - {cpu}), second), online_cpus=left)


def in_pod(node: Node, allowed: str, qos: str = "") -> Script:
    """Pod llm-0 on GPU-0 with this effective cpuset."""
    held = pod_task(1, "llm-0", gpus="GPU-0", qos=qos)
    return lambda at: node.sample(held, at=at, cgroups=[pod_cgroup("llm-0", allowed, qos)])


GRANTED = Node(two_socket()).granting("llm-0", gpus=("GPU-0",), cpus="0-7")
SHARING = Node(two_socket()).granting("llm-0", gpus=("GPU-0",))


def nowhere(**fields: object) -> Script:
    """A GPU whose sysfs node is -1 on a machine of two sockets."""
    lost: Gpu = gpu(0, None, **fields)
    return steadily(two_socket().with_gpus(lost))


EVERY = tuple(f"GPU-{index}" for index in range(8))

CASES: Mapping[str, Case] = MappingProxyType(
    {
        "memory_remote": Case(
            fires=steadily(two_socket(), task(1, gpus="GPU-0", mapped=AWRY)),
            silent=steadily(two_socket(), task(1, gpus="GPU-0", mapped={**GOOD, "file": {1: 8 * GIB}})),
        ),
        "host_buffers_remote": Case(
            fires=steadily(two_socket(), task(1, gpus="GPU-0", mapped={**GOOD, "shmem_anon": {0: GIB, 1: GIB}})),
            silent=steadily(two_socket(), task(1, gpus="GPU-0", mapped={**GOOD, "shmem_anon": {1: 60 * MIB}})),
        ),
        "cpu_remote": Case(fires=working({0: 0.3, 1: 0.3}), silent=working({1: 0.09})),
        "cpuset_off_home": Case(
            fires=steadily(two_socket(), task(1, gpus="GPU-0"), cgroups=(cgroup("16-31"),)),
            silent=steadily(two_socket(), task(1, gpus="GPU-0"), cgroups=(cgroup("15-31"),)),
        ),
        "policy_off_home": Case(
            fires=steadily(two_socket(), under(task(1, gpus="GPU-0", mapped=GOOD), "prefer (many)=static:1")),
            silent=steadily(two_socket(), under(task(1, gpus="GPU-0", mapped=GOOD), "prefer (many):0-1")),
        ),
        "rank_swapped": Case(fires=pair(1, 0), silent=pair(1, 1)),
        "grant_broken": Case(
            fires=in_pod(GRANTED, "8-63"),
            # As granted, but for a CPU that was taken offline.
            silent=in_pod(replace(GRANTED, parts=without_cpu(GRANTED.parts, 7)), "0-6"),
            names=("prod/llm-0/vllm", "CPUs 0-7", "shared pool"),
        ),
        "local_memory_exhausted": Case(fires=full_node(200.0), silent=full_node(1.0), names=("vllm.service", "Node 0")),
        "gpu_node_polluted": Case(
            fires=coherent(2 * GIB, GOOD), silent=coherent(0, {"anon": {0: GIB, 2: 8 * GIB}}), names=("Node 2", "GPU 0")
        ),
        "threads_escaped": Case(
            fires=threaded(HOME, 10.0, "0-63", {1: 6.0}),
            # NCCL binds the threads that it makes, and restores the main thread, which does the work.
            silent=threaded("0-63", 10.0, HOME, {0: 6.0}),
        ),
        "cpuset_unconfined": Case(
            fires=steadily(two_socket(), task(1, gpus="GPU-0"), cgroups=(cgroup("0-3,16-31"),)),
            silent=steadily(two_socket(), task(1, gpus="GPU-0", allowed=HOME), cgroups=(cgroup("0-3,16-31"),)),
        ),
        "mems_wider_than_cpus": Case(
            fires=steadily(two_socket(), task(1, gpus="GPU-0"), cgroups=(cgroup("0-15"),)),
            silent=steadily(two_socket(), task(1, gpus="GPU-0"), cgroups=(cgroup("0-63"),)),
        ),
        "pages_before_policy": Case(
            fires=steadily(two_socket(), under(task(1, gpus="GPU-0", mapped=AWRY), "bind:0")),
            silent=steadily(two_socket(), under(task(1, gpus="GPU-0", mapped=AWRY), "default")),
        ),
        "gpus_span_sockets": Case(
            fires=steadily(two_socket(), task(1, gpus="GPU-0"), task(2, gpus="GPU-7")),
            # Eight of eight, four on each socket, is what the machine has.
            silent=steadily(two_socket(), *(task(1 + n, gpus=uuid) for n, uuid in enumerate(EVERY))),
            names=("vllm.service", "GPUs 0,7"),
        ),
        "policy_interleaved": Case(
            fires=steadily(two_socket(), under(task(1, gpus="GPU-0", mapped=AWRY), "weighted interleave:0-1")),
            silent=steadily(
                two_socket(),
                under(task(1, gpus="GPU-0", mapped=AWRY), "default", **{"interleave:0-1": 2 * GIB, "default": 2 * GIB}),
            ),
        ),
        "process_spans_sockets": Case(
            fires=steadily(two_socket(), task(1, gpus={"GPU-0": 40 * GIB, "GPU-7": 40 * GIB})),
            # A context that a library opened.
            silent=steadily(two_socket(), task(1, gpus={"GPU-0": 40 * GIB, "GPU-7": 534 * MIB})),
            names=("vllm.service", "GPUs 0,7"),
        ),
        "not_exclusive": Case(
            fires=in_pod(SHARING, "0-63", qos="burstable"),
            silent=in_pod(replace(SHARING, policy="none"), "0-63", qos="burstable"),
            names=("prod/llm-0/vllm", "GPU 0", "Burstable", "single-numa-node"),
        ),
        "affinity_unknown": Case(
            fires=nowhere(), silent=nowhere(nvml_affinity=frozenset({1})), names=("GPU 0 (00000000:30:00.0)",)
        ),
        "irq_remote": Case(fires=interrupted(2000.0), silent=interrupted(900.0), names=("vllm.service", "mlx5_0")),
        "pcie_degraded": Case(fires=lanes(8, slot=16), silent=lanes(8, slot=8), names=("GPU 0 (00000000:30:00.0)",)),
        "numa_balancing_on": Case(fires=balanced(1), silent=balanced(2), names=("This machine",)),
        "single_node": Case(fires=steadily(single_node()), silent=steadily(two_socket()), names=("This machine",)),
        "virtual_topology": Case(
            fires=steadily(two_socket().change_topology(hypervisor=True)),
            silent=steadily(two_socket().change_topology(hypervisor=False)),
            names=("This machine",),
        ),
        "device_opened_everywhere": Case(
            fires=opened(*EVERY), silent=opened("GPU-0"), names=("vllm.service", "GPUs 0-7")
        ),
        "policy_note": Case(
            fires=in_pod(replace(GRANTED, topology="restricted"), "0-7"),
            silent=in_pod(replace(GRANTED, topology="none"), "0-7"),
            names=("The kubelet", "5 GPUs"),
        ),
    }
)
