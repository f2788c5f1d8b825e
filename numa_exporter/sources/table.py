"""Every source, in reading order: a reader may use what stands above it in the table."""

from numa_exporter.sources.devices import DevicesReader
from numa_exporter.sources.gpus import GpusReader
from numa_exporter.sources.source import Source
from numa_exporter.sources.topology import TopologyReader
from numa_exporter.sources.traffic import TrafficReader

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
        name="devices",
        interval=30,
        deadline=10,
        make=lambda _: DevicesReader(),
        reads="/sys/class/{net,infiniband,nvme}, /sys/bus/pci/devices, /proc/interrupts",
    ),
    Source(
        name="traffic",
        interval=15,
        deadline=5,
        make=lambda _: TrafficReader(),
        reads="/sys/fs/resctrl, where it is mounted",
    ),
)
