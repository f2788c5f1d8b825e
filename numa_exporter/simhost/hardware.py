"""The files of the machine itself: nodes, CPUs, the PCI tree, devices, interrupts and machine-wide counters."""

from collections.abc import Iterator

from numa_exporter.simhost.answers import Answers
from numa_exporter.simhost.cast import Cast
from numa_exporter.simhost.layout import CLOCK_TICKS, Layout, id_list
from numa_exporter.simhost.names import Names

NODES = "/sys/devices/system/node"
CPUS = "/sys/devices/system/cpu"
UPTIME = 30 * 86400.0
"""Seconds that the machine had been up at the start of the demo."""
NIC_INTERRUPTS = 4
INTERRUPT_RATE = 2500.0
BASE_LOAD = 0.03
"""Share of every CPU that the system itself uses."""
CACHE_SHARE = 0.35


def standing(layout: Layout, names: Names) -> Answers:
    """What does not change while the machine runs."""
    answers = Answers()
    _system(answers, layout, names)
    _cpus_and_nodes(answers, layout)
    for gpu in layout.gpus:
        _function(answers, gpu.folder, gpu.node, "0x10de", "0x030200", "nvidia")
        answers.file(f"/sys/bus/pci/devices/{gpu.address}/iommu_group/type", "DMA-FQ")
        lines = [str(64 + gpu.index)]
        answers.listing(f"/sys/bus/pci/devices/{gpu.address}/msi_irqs", lines)
        if layout.machine.nics:
            _function(answers, gpu.nic_folder, gpu.node, "0x15b3", "0x020700", "mlx5_core")
            answers.real(f"/sys/class/infiniband/mlx5_{gpu.index}/device", gpu.nic_folder)
            lines = [str(line) for line in _nic_lines(gpu.index)]
            answers.listing(f"/sys/bus/pci/devices/{gpu.nic_address}/msi_irqs", lines)
    nics = [f"mlx5_{gpu.index}" for gpu in layout.gpus] if layout.machine.nics else []
    answers.listing("/sys/class/infiniband", nics)
    addresses = [gpu.address for gpu in layout.gpus]
    addresses += [gpu.nic_address for gpu in layout.gpus] if layout.machine.nics else []
    answers.listing("/sys/bus/pci/devices", addresses)
    return answers


def _system(answers: Answers, layout: Layout, names: Names) -> None:
    answers.file("/proc/sys/kernel/random/boot_id", names.uuid("boot"))
    answers.file("/proc/sys/kernel/osrelease", layout.machine.kernel)
    answers.file("/proc/sys/kernel/numa_balancing", "0")
    answers.file("/proc/sys/vm/zone_reclaim_mode", "0")
    answers.file("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: simulated\nflags\t\t: fpu")
    answers.file(
        "/proc/devices", "Character devices:\n195 nvidia\n226 drm\n510 nvidia-uvm\n\nBlock devices:\n259 blkext"
    )
    answers.file("/proc/vmstat", "numa_hint_faults 0\nnuma_hint_faults_local 0\nnuma_pages_migrated 0")
    total = layout.machine.memory_per_node * layout.machine.nodes // 1024
    answers.file("/proc/meminfo", f"MemTotal: {total} kB\nHugepagesize: 2048 kB")


def _cpus_and_nodes(answers: Answers, layout: Layout) -> None:
    for name in ("online", "possible"):
        answers.file(f"{CPUS}/{name}", id_list(layout.cpus))
    answers.file(f"{CPUS}/isolated", "")
    for cpu in layout.cpus:
        package = layout.socket_of(layout.node_of(cpu))
        answers.file(f"{CPUS}/cpu{cpu}/topology/physical_package_id", str(package))
    for name in ("online", "possible", "has_cpu", "has_memory"):
        answers.file(f"{NODES}/{name}", id_list(layout.nodes))
    for node in layout.nodes:
        answers.file(f"{NODES}/node{node}/cpulist", id_list(layout.cpus_of(node)))
        row = " ".join(str(layout.distance(node, other)) for other in layout.nodes)
        answers.file(f"{NODES}/node{node}/distance", row)
        answers.listing(f"{NODES}/node{node}/hugepages", ["hugepages-2048kB"])
        for name in ("nr_hugepages", "free_hugepages"):
            answers.file(f"{NODES}/node{node}/hugepages/hugepages-2048kB/{name}", "0")


def _function(answers: Answers, folder: str, node: int, vendor: str, kind: str, driver: str) -> None:
    below = f"/sys/bus/pci/devices/{folder.rpartition('/')[2]}"
    answers.real(below, folder)
    answers.real(f"{below}/driver", f"/sys/bus/pci/drivers/{driver}")
    files = {
        "vendor": vendor,
        "class": kind,
        "numa_node": str(node),
        "current_link_width": "16",
        "max_link_width": "16",
    }
    for name, text in files.items():
        answers.file(f"{below}/{name}", text)
    answers.file(f"{folder.rpartition('/')[0]}/max_link_width", "16")


def _nic_lines(index: int) -> range:
    return range(100 + NIC_INTERRUPTS * index, 100 + NIC_INTERRUPTS * (index + 1))


def moving(layout: Layout, cast: Cast, now: float, began: float) -> Answers:
    """What a moment changes: CPU time, free memory, allocation events, interrupts. ``began`` is wall-clock seconds at
    moment 0."""
    answers = Answers()
    answers.file("/proc/stat", "\n".join(_stat(layout, cast, now, began)))
    answers.file("/proc/interrupts", "\n".join(_interrupts(layout, now)))
    used = dict.fromkeys(layout.nodes, 0)
    for one in cast.alive(now):
        for task in one.tasks:
            for node, share in task.pages.items():
                used[node] += int(share * (task.private + task.pinned) * task.loaded(now))
    for node in layout.nodes:
        answers.file(f"{NODES}/node{node}/meminfo", _meminfo(node, layout.machine.memory_per_node, used[node]))
        answers.file(f"{NODES}/node{node}/numastat", _numastat(cast.busy_seconds(node, now), now))
    return answers


def _stat(layout: Layout, cast: Cast, now: float, began: float) -> Iterator[str]:
    uptime = UPTIME + now
    busy = {node: cast.busy_seconds(node, now) / len(layout.cpus_of(node)) for node in layout.nodes}
    yield f"cpu  {int(uptime)} 0 0 0"
    for cpu in layout.cpus:
        user = busy[layout.node_of(cpu)]
        system = BASE_LOAD * uptime
        ticks = [int(one * CLOCK_TICKS) for one in (user, system, max(0.0, uptime - user - system))]
        yield f"cpu{cpu} {ticks[0]} 0 {ticks[1]} {ticks[2]} 0 0 0 0 0 0"
    yield f"btime {int(began - UPTIME)}"


def _meminfo(node: int, total: int, used: int) -> str:
    cache = int(total * CACHE_SHARE)
    free = max(0, total - used - cache - (8 << 30))
    rows = {
        "MemTotal": total,
        "MemFree": free,
        "FilePages": cache,
        "Active(file)": cache // 4,
        "Inactive(file)": cache - cache // 4,
        "SReclaimable": 2 << 30,
    }
    return "\n".join(f"Node {node} {key}: {count // 1024} kB" for key, count in rows.items())


def _numastat(busy: float, now: float) -> str:
    hits = int(1e9 + 4000 * busy + 2000 * (UPTIME + now))
    other = hits // 50
    rows = {"numa_hit": hits, "numa_miss": 0, "numa_foreign": 0, "interleave_hit": 0}
    rows |= {"local_node": hits - other, "other_node": other}
    return "\n".join(f"{name} {count}" for name, count in rows.items())


def _interrupts(layout: Layout, now: float) -> Iterator[str]:
    yield " ".join(f"CPU{cpu}" for cpu in layout.cpus)
    for gpu in layout.gpus:
        cpus = layout.cpus_of(max(0, gpu.node))
        yield _row(layout, 64 + gpu.index, {cpus[gpu.index % len(cpus)]: int(40 * (UPTIME + now))}, "nvidia")
        if layout.machine.nics:
            fired = int(INTERRUPT_RATE / NIC_INTERRUPTS * (UPTIME / 100 + now))
            for number, line in enumerate(_nic_lines(gpu.index)):
                serving = cpus[(8 * gpu.index + number) % len(cpus)]
                yield _row(layout, line, {serving: fired}, f"mlx5_comp{number}@pci:{gpu.nic_address}")


def _row(layout: Layout, line: int, fired: dict[int, int], name: str) -> str:
    counts = " ".join(str(fired.get(cpu, 0)) for cpu in layout.cpus)
    return f"{line}: {counts} IR-PCI-MSI-edge {name}"
