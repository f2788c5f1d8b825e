"""Whole reports for tests of metrics: machines with everything that a kernel tells, and as many workloads as wanted."""

from dataclasses import replace

from numa_exporter.findings import judge
from numa_exporter.formats.workload_path import classify_path
from numa_exporter.metrics import TABLE, View
from numa_exporter.metrics.exposition import Families, families
from numa_exporter.model.gpus import Gpu
from numa_exporter.model.health import AgentStats, FailureWord, ProcessCost, SourceHealth
from numa_exporter.model.ids import Backing
from numa_exporter.model.machine import Balancing, HugePagePool, Traffic, TrafficDomain
from numa_exporter.model.placement import Ledger
from numa_exporter.model.processes import Cgroup
from numa_exporter.model.report import Memory, Report
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import Settings
from numa_exporter.placement.join import join
from numa_exporter.sources.table import SOURCES
from tests.builders import GIB, MIB, NOON, Parts, Task, sample, task

MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
EVENTS = ("hit", "miss", "foreign", "interleave", "local", "other")
BACKINGS: tuple[Backing, ...] = ("anon", "file", "shmem_anon", "shmem", "hugetlb", "driver")


def furnished(parts: Parts, look: int) -> Parts:
    """With all that a kernel tells beside the layout: counters, pools, interrupts, links. ``look`` makes them grow."""
    nodes = tuple(
        replace(
            node,
            numastat=dict.fromkeys(EVENTS, 1000 + look if node.cpus else 0),
            hugepages=tuple(HugePagePool(page_bytes=size, total_bytes=0, free_bytes=0) for size in (2 * MIB, GIB)),
        )
        for node in parts.topology.nodes
    )
    online = parts.topology.online_cpus
    machine = replace(
        parts.topology,
        nodes=nodes,
        cpu_seconds={cpu: dict.fromkeys(MODES, 100.0 + look) for cpu in online},
        balancing=Balancing(mode=1, zone_reclaim_mode=0, hint_faults=10, hint_faults_local=7, pages_migrated=3),
    )
    devices = tuple(replace(device, interrupts=dict.fromkeys(online, 100 + look)) for device in parts.devices.devices)
    return replace(
        parts.change_gpus(pcie_rx_bytes=look, pcie_tx_bytes=look, link_width=16, max_link_width=16),
        topology=machine,
        devices=replace(parts.devices, devices=devices),
    )


def container(number: int) -> str:
    """The cgroup of a pod's only container."""
    pod = f"pod{number:08x}_9213_11e7_a01f_507b9d4141fa"
    return f"/kubepods.slice/kubepods-{pod}.slice/cri-containerd-{number + 1:012x}{'0' * 52}.scope"


def engine(number: int, gpu: Gpu, nodes: tuple[int, ...]) -> list[Task]:
    """A container with an engine on a GPU and the launcher that started it: all backings on these nodes."""
    mapped = {backing: dict.fromkeys(nodes, GIB) for backing in BACKINGS}
    cpu = dict.fromkeys(nodes, 100.0)
    cgroup = container(number)
    return [
        task(2 * number + 1, gpus=gpu.uuid, cgroup=cgroup, mapped=mapped, cpu=cpu),
        task(2 * number + 2, cgroup=cgroup, comm="launcher", mapped={"anon": {nodes[0]: MIB}}, cpu={nodes[0]: 1.0}),
    ]


def charged(number: int, parts: Parts) -> Cgroup:
    """The cgroup as the kernel tells it: a figure for each node with memory, most of them 0."""
    nodes = parts.topology.has_memory or frozenset()
    told = {node: GIB if node == min(nodes) else 0 for node in nodes}
    path = classify_path(container(number)).directory
    backings = dict.fromkeys(("anon", "file", "shmem", "hugetlb"), told)
    return Cgroup(path=path, version=2, cpus=parts.topology.online_cpus, mems=frozenset(nodes), charged=backings)


def crowded(parts: Parts, containers: int, look: int = 1) -> Sample:
    """So many containers of two processes each, spread over the GPUs."""
    full = furnished(parts, look)
    with_cpus = tuple(node.id for node in parts.topology.nodes if node.cpus)
    cards = full.gpus.gpus
    tasks = [one for number in range(containers) for one in engine(number, cards[number % len(cards)], with_cpus)]
    cgroups = [charged(number, full) for number in range(containers)]
    traffic = Traffic(
        domains=tuple(
            TrafficDomain(domain=str(node), cpus=full.topology.nodes[at].cpus, total_bytes=1, local_bytes=1)
            for at, node in enumerate(with_cpus)
        )
    )
    return sample(full, *tasks, cgroups=cgroups, at=15.0 * look, traffic=traffic)


def health() -> dict[str, SourceHealth]:
    """Every source up, each with a few failed readings of single processes behind it."""
    counts: dict[FailureWord, int] = {"gone": 2, "denied": 1}
    return {
        source.name: SourceHealth(
            name=source.name, up=True, read_at=NOON, duration=0.01, interval=source.interval, failures=counts
        )
        for source in SOURCES
    }


def stats() -> AgentStats:
    cost = ProcessCost(
        cpu_seconds=1.0, resident_bytes=50 * MIB, virtual_bytes=GIB, open_fds=9, threads=12, start_time=NOON - 60
    )
    return AgentStats(ticks=4, ticks_skipped=0, last_tick=NOON, lock_hold_seconds=0.02, cost=cost)


def report(*samples: Sample, settings: Settings | None = None) -> Report:
    """The report after these samples, with every source's health."""
    made, memory, ledger = None, Memory(), Ledger()
    chosen = settings or Settings()
    for one in samples:
        placement = join(one, ledger, chosen)
        judged = judge(memory, placement, chosen)
        memory, ledger = judged.memory, placement.ledger
        made = Report(
            placement=placement,
            verdicts=judged.verdicts,
            findings=judged.findings,
            health={**health(), **one.health},
            memory=memory,
            settings=chosen,
            exporter="0.0.0",
        )
    assert made is not None
    return made


def view(made: Report) -> View:
    return View(report=made, agent=stats(), version="0.0.0", revision="0123abc", python="3.13.0")


def exposed(*samples: Sample, settings: Settings | None = None) -> Families:
    return families(TABLE, view(report(*samples, settings=settings)))
