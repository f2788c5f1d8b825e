"""docs/metrics.md, printed from the table."""

from collections.abc import Mapping, Sequence

from numa_exporter.metrics.row import Row, W

HEADER = """# Metrics

Printed from the table in `numa_exporter/metrics/` by `make docs`; a test holds it fresh.

`W` stands for the labels `namespace`, `pod`, `container`, `unit`: a Kubernetes container fills the first three, a
workload of the host fills `unit`; a label that does not apply is absent. Base units throughout. Unknown is not exposed:
no sentinel, no 0, no NaN. What the words mean, and the values of labels: [below](#words).

| metric | kind | labels | what it says |
|---|---|---|---|
"""
WORDS: Mapping[str, str] = {
    "workload": "a container, or on a host a systemd unit, Slurm step or other container",
    "rank": "the processes of one workload that compute on the same GPUs; label `uuid`, the lowest UUID of these GPUs",
    "helper": "another process of such a workload, never judged; `numa_rank_*` without `uuid` are its helpers together",
    "home": "the NUMA nodes nearest to the rank's GPUs; a helper's, to all GPUs of its workload",
    "socket": "the NUMA nodes that share a processor package; absent where that is not known",
}
VALUES: Mapping[str, str] = {
    "locality": "seen from home: `local` a home node, `socket` another node of a home socket, `remote` another socket, "
    "`device` memory of the rank's own GPUs. Only `remote` is against the grain",
    "dimension": "judged: `cpu_time`, `memory` (private pages: no files, no segments shared with other ranks), "
    "`host_buffers` (`shmem_anon` and `driver`). Shown only: `cpu_mask`, `memory_mask`, `shared_memory`, `irq`, "
    "`gpu_spread`",
    "backing": "`anon`, `file`, `shmem` (tmpfs, memfd, SysV), `shmem_anon` (shared without a name: CUDA's pinned host "
    "buffers), `hugetlb`, `driver` (mappings of a GPU's device file)",
    "role": "`main` the GPU counts for home, `stray` a context that a library opened, `observer` a monitor",
    "evidence": "who says that the GPU is held, best first: `nvml`, `kfd`, `drm`, `fd`, `kubelet`, `vfio`",
    "state": "of a process on a GPU: `attributed` to a workload, `unattributed`, `denied` to be looked at, `observer`",
    "failure": "`absent` not on this machine, which is no fault; `denied` a right is missing; `gone` it was there; "
    "`stuck` a call does not return; `garbled` not of the expected form",
    "path": "as nvidia-smi topo -m has it: `PIX` one PCIe switch between, `PXB` several, `PHB` a host bridge, `NODE` "
    "within one NUMA node, `SYS` across nodes",
}


def markdown(table: Sequence[Row]) -> str:
    """The whole page."""
    rows = (f"| `{row.name}` | {row.kind} | {_labels(row)} | {_cell(row.help)} |\n" for row in table)
    words = (f"| {word} | {means} |\n" for word, means in WORDS.items())
    values = (f"| `{label}` | {means} |\n" for label, means in VALUES.items())
    return "".join(
        (
            HEADER,
            *rows,
            "\n## Words\n\n| word | means |\n|---|---|\n",
            *words,
            "\n| label | values |\n|---|---|\n",
            *values,
        )
    )


def _labels(row: Row) -> str:
    others = [f"`{label}`" for label in row.labels if label not in W]
    return ", ".join(["`W`", *others] if set(W) <= set(row.labels) else others)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
