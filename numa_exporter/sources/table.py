"""Every source, in reading order: a reader may use what stands above it in the table."""

from numa_exporter.sources import memory, processes, threads
from numa_exporter.sources.cgroups import CgroupsReader
from numa_exporter.sources.devices import DevicesReader
from numa_exporter.sources.gpus import GpusReader
from numa_exporter.sources.kubelet import KubeletReader
from numa_exporter.sources.names import NamesReader
from numa_exporter.sources.source import Source
from numa_exporter.sources.topology import TopologyReader
from numa_exporter.sources.traffic import TrafficReader

TICK_SECONDS = 15.0
"""The tick that these intervals were chosen for; with another one they grow and shrink alike."""

SOURCES: tuple[Source, ...] = (
    Source(
        name="topology",
        interval=15,  # CPU time and allocation counters; the layout is kept for 60 s
        deadline=5,
        make=lambda _: TopologyReader(),
        reads="/sys/devices/system/{node,cpu}, /proc/{stat,meminfo,vmstat,cpuinfo}",
    ),
    Source(
        name="gpus",
        interval=30,
        deadline=10,
        make=lambda _: GpusReader(),
        reads="NVML, /proc/driver/nvidia, /sys/class/{kfd,drm,accel}, /sys/bus/pci/devices",
    ),
    Source(
        name="processes",
        interval=15,
        deadline=10,
        make=processes.make,
        reads="/proc/PID/{stat,cgroup,cpuset,fd,fdinfo}",
        needs=("topology", "gpus"),
    ),
    Source(
        name="kubelet",
        interval=15,
        deadline=10,
        make=lambda settings: KubeletReader(settings.kubelet_root),
        reads="state files below --kubelet.root, PodResources socket",
    ),
    Source(
        name="names",
        interval=15,
        deadline=10,
        make=lambda settings: NamesReader(asks_runtime=settings.cri_socket is not None),
        reads="/var/log/{pods,containers}, names in the runtimes' own files; last --kubelet.cri-socket",
        needs=("processes",),
    ),
    Source(
        name="cgroups",
        interval=15,
        deadline=10,
        make=lambda _: CgroupsReader(),
        reads="cpuset, memory, hugetlb and cpuacct files of GPU containers in /sys/fs/cgroup",
        needs=("topology", "processes"),
    ),
    Source(
        name="threads",
        interval=15,
        deadline=10,
        make=threads.make,
        reads="sched_getaffinity, /proc/PID/task/TID/{stat,schedstat}",
        needs=("topology", "processes"),
        costly=True,
    ),
    Source(
        name="memory",
        interval=15,  # each process every 30 s
        deadline=60,  # and every process has a deadline of its own
        make=memory.make,
        reads="/proc/PID/{status,mountinfo,maps,numa_maps,pagemap}, move_pages",
        needs=("topology", "processes"),
        costly=True,
        locks=True,
    ),
    Source(
        name="devices",
        interval=30,
        deadline=10,
        make=lambda _: DevicesReader(),
        reads="/sys/class/{net,infiniband,nvme}, /sys/bus/pci/devices, /proc/interrupts",
        needs=("gpus",),
    ),
    Source(
        name="traffic",
        interval=15,
        deadline=5,
        make=lambda _: TrafficReader(),
        reads="/sys/fs/resctrl, where it is mounted",
    ),
)
