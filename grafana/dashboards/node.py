"""Node: one machine, its sockets and GPUs, who sits where, and what the kernel says of its nodes."""

from grafana_foundation_sdk.builders import dashboard as build

from .house import (
    GREEN,
    KEEP,
    LOCALITY,
    ORANGE,
    RED,
    REMOTE_STEPS,
    UIDS,
    Piece,
    annotation,
    dashboard,
    filled,
    link,
    target,
    variable,
)
from .panels import heat, lines, number, timeline
from .tables import Column, rows

IN = 'cluster=~"$cluster",node=~"$node"'
RATE = "$__rate_interval"
TO_WORKLOAD = link("This workload", f"/d/{UIDS['workload']}?var-workload=${{__data.fields.workload}}&{KEEP}")


def node() -> build.Dashboard:
    made = dashboard("node", "NUMA / Node", "One machine: sockets, GPUs, pages, CPU time, interrupts.")
    made = made.with_variable(
        variable(
            "node",
            "Machine",
            'numa_exporter_host_info{cluster=~"$cluster"}',
            "The target label `node`: the machine, not a NUMA node.",
            all_too=False,  # node 0 of two machines is not one node
        )
    ).annotation(annotation(IN))
    pieces = (
        *_state(),
        build.Row("GPUs"),
        *_gpus(),
        build.Row("Pages"),
        *_pages(),
        build.Row("CPUs, interrupts, devices"),
        *_cpus(),
        build.Row("Can the exporter be believed?"),
        *_agent(),
    )
    return filled(made, pieces)


def _state() -> list[Piece]:
    finding = "namespace,pod,container,unit,uuid,numa_node,device"
    return [
        number(
            "Warnings",
            "Open findings of level warning.",
            "short",
            f'count(numa:findings:open{{level="warning",{IN}}}) or vector(0)',
            (None, GREEN),
            (1, ORANGE),
        ),
        number(
            "Misaligned GPUs",
            "GPUs with a rank that was judged and found against the grain.",
            "short",
            f'count(numa:gpu:state{{state="misaligned",{IN}}}) or vector(0)',
            (None, GREEN),
            (1, RED),
        ),
        rows(
            "Findings",
            "What is wrong, what is worth knowing, and what was declared intended.",
            [
                Column(
                    "Count",
                    f"max by (code,level,suppressed,{finding}) (numa_findings{{{IN}}})",
                    labels=["level", *finding.split(","), "suppressed"],
                )
            ],
            keys=["code"],
            span=16,
            height=8,
        ),
    ]


def _gpus() -> list[Piece]:
    held = "namespace,pod,container,unit,workload"
    return [
        rows(
            "GPUs and who holds them",
            "Affinity is the NUMA node nearest to the GPU; several for a GPU between nodes, none where unknown.",
            [
                Column(
                    "Index",
                    f"max by (uuid,gpu,model,pci_bus_id) (numa_gpu_info{{{IN}}})",
                    labels=["gpu", "model"],
                    hidden=True,
                ),
                Column(
                    "Affinity",
                    f"max by (uuid,numa_node,socket,source) (numa_gpu_affinity_info{{{IN}}})",
                    labels=["numa_node", "socket", "source"],
                    hidden=True,
                ),
                Column(
                    "Held by", f"max by (uuid,{held}) (numa:gpu_rank:held{{{IN}}})", labels=held.split(","), hidden=True
                ),
                Column("State", f"max by (uuid,state) (numa:gpu:state{{{IN}}})", labels=["state"], hidden=True),
                Column(
                    "Memory remote",
                    f'max by (uuid) (numa:rank:misalignment_ratio{{dimension="memory",{IN}}})',
                    unit="percentunit",
                    thresholds=REMOTE_STEPS,
                ),
                Column(
                    "CPU time remote",
                    f'max by (uuid) (numa:rank:misalignment_ratio{{dimension="cpu_time",{IN}}})',
                    unit="percentunit",
                    thresholds=REMOTE_STEPS,
                ),
                Column("Used", f"sum by (uuid) (numa_gpu_holding_bytes{{{IN}}})", unit="bytes"),
            ],
            keys=["uuid"],
            links={"workload": TO_WORKLOAD},
        ),
        lines(
            "PCIe traffic by GPU",
            "Bytes that the GPUs received from and sent to the host. Where little goes over, placement matters little.",
            "Bps",
            target(
                f"sum by (uuid,direction) (rate(numa_gpu_pcie_bytes_total{{{IN}}}[{RATE}]))", "{{uuid}} {{direction}}"
            ),
        ),
        lines(
            "GPU memory held",
            "Bytes in use by process, as the driver lists them.",
            "bytes",
            target(f"sum by (uuid) (numa_gpu_holding_bytes{{{IN}}})", "{{uuid}}"),
            stacked=True,
        ),
    ]


def _pages() -> list[Piece]:
    mapped = f'sum by (numa_node) (numa_rank_mapped_bytes{{backing!="file",{IN}}})'
    return [
        heat(
            "Pages of GPU workloads by NUMA node",
            "Private and shared memory that ranks and their helpers map on each node; files left out.",
            "bytes",
            target(mapped, "node {{numa_node}}"),
        ),
        lines(
            "The same by locality",
            "Set against each rank's own home. Remote is another socket.",
            "bytes",
            target(f'sum by (locality) (numa_rank_mapped_bytes{{backing!="file",{IN}}})', "{{locality}}"),
            stacked=True,
            colors=LOCALITY,
        ),
        lines(
            "Free and reclaimable memory by NUMA node",
            "Free alone is always low beside a page cache; both low sends new pages to the other node.",
            "bytes",
            target(f"max by (numa_node) (numa_node_memory_free_bytes{{{IN}}})", "node {{numa_node}} free"),
            target(
                f"max by (numa_node) (numa_node_memory_reclaimable_bytes{{{IN}}})",
                "node {{numa_node}} reclaimable",
                ref="B",
            ),
        ),
        lines(
            "Allocations that missed",
            "foreign: wanted here, served elsewhere; miss: the other way round; other: served to a CPU of another "
            "node. Allocation events, not accesses.",
            "cps",
            target(
                "sum by (numa_node,event) "
                f'(rate(numa_node_allocations_total{{event=~"miss|foreign|other",{IN}}}[{RATE}]))',
                "node {{numa_node}} {{event}}",
            ),
        ),
    ]


def _cpus() -> list[Piece]:
    return [
        lines(
            "CPU use by socket",
            "Share of a socket's CPUs that were busy.",
            "percentunit",
            target(f"max by (socket) (numa_socket_cpu_utilization_ratio{{{IN}}})", "socket {{socket}}"),
            top=1,
        ),
        lines(
            "CPU time of GPU workloads by NUMA node",
            "Cores that ranks and helpers keep busy, by where their threads ran.",
            "short",
            target(
                f"sum by (numa_node,locality) (rate(numa_rank_cpu_seconds_total{{{IN}}}[{RATE}]))",
                "node {{numa_node}} {{locality}}",
            ),
            stacked=True,
        ),
        lines(
            "Interrupts by where they were served",
            "Fired interrupts of NICs, NVMe drives and GPUs, against the device's own node.",
            "cps",
            target(
                f"sum by (class,locality) (rate(numa_device_interrupts_total{{{IN}}}[{RATE}]))",
                "{{class}} {{locality}}",
            ),
        ),
        rows(
            "NUMA nodes",
            "Kinds: cpu, memory (no CPUs), gpu (a GPU's own memory). Socket is empty where the firmware does not say.",
            [
                Column(
                    "Info",
                    f"max by (numa_node,socket,kind) (numa_node_info{{{IN}}})",
                    labels=["socket", "kind"],
                    hidden=True,
                ),
                Column("CPUs", f"max by (numa_node) (numa_node_cpus{{{IN}}})"),
                Column("Memory", f"max by (numa_node) (numa_node_memory_bytes{{{IN}}})", unit="bytes"),
                Column("Free", f"max by (numa_node) (numa_node_memory_free_bytes{{{IN}}})", unit="bytes"),
            ],
            keys=["numa_node"],
            span=12,
            height=8,
        ),
    ]


def _agent() -> list[Piece]:
    return [
        timeline(
            "Sources",
            "A source that is down leaves its part unknown: silence then means nothing.",
            target(f"min by (node,source) (numa_exporter_source_up{{{IN}}})", "{{node}} {{source}}"),
            {1: ("up", GREEN), 0: ("down", RED)},
        ),
        lines(
            "Processes on GPUs by attribution",
            "Only attributed ones are judged.",
            "short",
            target(f"sum by (state) (numa_exporter_gpu_processes{{{IN}}})", "{{state}}"),
            stacked=True,
            span=6,
        ),
        lines(
            "What the exporter costs",
            "CPU of the exporter, and the most that its page reads can have held workloads up.",
            "percentunit",
            target(f"sum(rate(process_cpu_seconds_total{{{IN}}}[{RATE}]))", "CPU"),
            target(f"sum(rate(numa_exporter_lock_hold_seconds_total{{{IN}}}[{RATE}]))", "mmap lock, at most", ref="B"),
            span=6,
        ),
    ]
