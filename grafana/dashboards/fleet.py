"""Fleet: which machines and workloads go against the grain, and what alignment costs in GPUs."""

from grafana_foundation_sdk.builders import dashboard as build

from .house import (
    BLUE,
    GREEN,
    GREY,
    KEEP,
    ORANGE,
    RED,
    REMOTE_STEPS,
    STATE,
    UIDS,
    Piece,
    annotation,
    dashboard,
    filled,
    link,
    target,
)
from .panels import lines, number
from .tables import Column, rows

IN = 'cluster=~"$cluster"'
TO_NODE = link("This machine", f"/d/{UIDS['node']}?var-node=${{__data.fields.node}}&{KEEP}")
TO_WORKLOAD = link("This workload", f"/d/{UIDS['workload']}?var-workload=${{__data.fields.workload}}&{KEEP}")


def fleet() -> build.Dashboard:
    made = dashboard(
        "fleet",
        "NUMA / Fleet",
        "Which GPU workloads run against the grain of their machine. Needs the recording rules of deploy/rules.",
    ).annotation(annotation(IN))
    pieces = (*_summary(), build.Row("Who?"), *_who(), build.Row("What does alignment cost?"), *_cost())
    return filled(made, pieces)


def _summary() -> list[Piece]:
    return [
        number(
            "GPUs",
            "By the worst of their ranks. Aligned: CPU time and memory judged and clean, GPUs on as few sockets as can "
            "be. Unknown is not aligned.",
            "short",
            f"sum by (state) (numa:cluster:gpus{{{IN}}})",
            legend="{{state}}",
            colors=STATE,
            span=8,
        ),
        number(
            "Drifting workloads",
            "Workloads of which more ranks are bad than usual for them.",
            "short",
            f"count(group by (cluster,namespace,workload) (numa:workload_drift:active{{{IN}}} == 1)) or vector(0)",
            (None, GREEN),
            (1, RED),
        ),
        number(
            "Open warnings",
            "Findings of level warning that nobody declared intended, cordoned machines left out.",
            "short",
            f'sum(numa:cluster:findings{{level="warning",{IN}}}) or vector(0)',
            (None, GREEN),
            (1, ORANGE),
        ),
        number(
            "Machines watched",
            "Share of the GPU machines on which an exporter answers. What is not watched is not known to be good.",
            "percentunit",
            f"min(numa:cluster:coverage_ratio{{{IN}}})",
            (None, RED),
            (0.95, ORANGE),
            (1, GREEN),
        ),
        number(
            "GPU hours aligned, last day",
            "Of the GPU hours in use and looked at. Unknown hours count as not aligned.",
            "percentunit",
            f'sum(numa:cluster:gpu_hours:1d{{state="aligned",{IN}}}) / sum(numa:cluster:gpu_hours:1d{{{IN}}})',
            (None, GREY),
        ),
        lines(
            "GPUs by state",
            "The same count over time.",
            "short",
            target(f"sum by (state) (numa:cluster:gpus{{{IN}}})", "{{state}}"),
            stacked=True,
            colors=STATE,
        ),
        lines(
            "Findings",
            "Open findings by code, information included.",
            "short",
            target(f"sum by (code,level) (numa:cluster:findings{{{IN}}})", "{{code}} ({{level}})"),
        ),
    ]


def _who() -> list[Piece]:
    machines = "cluster,node"
    workload = "cluster,namespace,workload,container"
    return [
        rows(
            "Machines",
            "Machines with a GPU that is not aligned, or with a warning.",
            [
                Column(
                    "Misaligned GPUs",
                    f'count by ({machines}) (numa:gpu:state{{state="misaligned",{IN}}})',
                    thresholds=((None, GREEN), (1, RED)),
                ),
                Column("Unknown GPUs", f'count by ({machines}) (numa:gpu:state{{state="unknown",{IN}}})'),
                Column(
                    "Warnings",
                    f'count by ({machines}) (numa:findings:open{{level="warning",{IN}}})',
                    thresholds=((None, GREEN), (1, ORANGE)),
                ),
                Column(
                    "Worst memory",
                    f'max by ({machines}) (numa:rank:misalignment_ratio{{dimension="memory",{IN}}} > 0.1)',
                    unit="percentunit",
                    thresholds=REMOTE_STEPS,
                ),
                Column(
                    "Worst CPU time",
                    f'max by ({machines}) (numa:rank:misalignment_ratio{{dimension="cpu_time",{IN}}} > 0.1)',
                    unit="percentunit",
                    thresholds=REMOTE_STEPS,
                ),
            ],
            keys=["cluster", "node"],
            span=12,
            links={"node": TO_NODE},
            sort="Misaligned GPUs",
        ),
        rows(
            "Workloads",
            "The worst rank of each workload, by the lower bound that drift uses, and what is remote in all.",
            [
                Column(
                    "Memory remote",
                    f'max by ({workload}) (numa:workload:remote_ratio{{dimension="memory",{IN}}})',
                    unit="percentunit",
                    thresholds=REMOTE_STEPS,
                ),
                Column(
                    "CPU time remote",
                    f'max by ({workload}) (numa:workload:remote_ratio{{dimension="cpu_time",{IN}}})',
                    unit="percentunit",
                    thresholds=REMOTE_STEPS,
                ),
                Column("Remote bytes", f"max by ({workload}) (numa:workload:remote_bytes{{{IN}}})", unit="bytes"),
                Column("Remote cores", f"max by ({workload}) (numa:workload:remote_cores{{{IN}}})"),
                Column(
                    "Drifting since",
                    f"1000 * min by ({workload}) (numa:workload_drift:since{{{IN}}})",
                    unit="dateTimeFromNow",
                ),
            ],
            keys=["cluster", "namespace", "workload", "container"],
            span=12,
            links={"workload": TO_WORKLOAD},
            sort="Memory remote",
        ),
        lines(
            "Share of bad ranks, worst ten workloads",
            "Drift is this share leaving its baseline.",
            "percentunit",
            target(f"topk(10, numa:workload_remote:share{{{IN}}} > 0)", "{{namespace}} {{workload}} {{dimension}}"),
            span=24,
            top=1,
        ),
    ]


def _cost() -> list[Piece]:
    return [
        lines(
            "Stranded GPUs",
            "GPUs that requests of this size could take on an empty machine but cannot now. Sizes are alternatives: "
            "never add them up.",
            "short",
            target(f"numa:cluster:gpus_stranded{{{IN}}}", "requests of {{size}}"),
            span=8,
        ),
        lines(
            "Usable GPUs, requests of four",
            "GPUs that requests of four could still take, by the policy that would have to admit them.",
            "short",
            target(f'numa:cluster:gpus_usable{{size="4",{IN}}}', "{{policy}}"),
            span=8,
        ),
        lines(
            "Pods rejected by the Topology Manager, 30 minutes",
            "The kubelet's own counters; the older one is what kubelets before 1.32 have. Three in half an hour is a "
            "hot loop.",
            "short",
            target(
                "sum by (cluster,node) (increase(kubelet_admission_rejections_total"
                f'{{reason="TopologyAffinityError",{IN}}}[30m])) > 0',
                "{{node}}",
            ),
            target(
                f"sum by (cluster,node) (increase(kubelet_topology_manager_admission_errors_total{{{IN}}}[30m])) > 0",
                "{{node}} (errors)",
                ref="B",
            ),
            span=8,
        ),
        lines(
            "GPU hours of the last day",
            "Hours in use that were looked at; the parts add up to them.",
            "h",
            target(f"sum by (state) (numa:cluster:gpu_hours:1d{{{IN}}})", "{{state}}"),
            stacked=True,
            colors=STATE,
        ),
        lines(
            "Exporters that do not answer",
            "Machines whose target is down, or on which Kubernetes knows of GPUs and nothing is scraped.",
            "short",
            target(f"count by (cluster) (numa:machine:exporter_up{{{IN}}} == 0) or vector(0)", "down"),
            target(f"count by (cluster) (numa:machine:exporter_up{{{IN}}} == 1)", "up", ref="B"),
            colors={"up": BLUE, "down": ORANGE},
        ),
    ]
