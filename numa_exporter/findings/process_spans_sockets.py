"""process_spans_sockets: one process computes on GPUs of several sockets, so that no place is right for it.

Only where used bytes say that it computes on them: a context that a library opened does not count, nor does an open
device.
"""

from collections.abc import Iterator

from numa_exporter.findings import evidence, words
from numa_exporter.findings.forms import POLICY_NEEDS
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene, about, trust
from numa_exporter.formats import idlist
from numa_exporter.model.placement import Machine, PlacedProcess
from numa_exporter.model.report import Finding


def find(scene: Scene) -> Iterator[Finding]:
    machine = scene.machine
    for workload, rank in scene.ranks():
        spanning = [process for process in rank.processes if len(_by_socket(machine, process)) > 1]
        if not spanning:
            continue
        process, sides = spanning[0], _by_socket(machine, spanning[0])
        placed = [gpu for uuid in rank.gpus if (gpu := machine.gpu(uuid))]
        yield Finding(
            code="process_spans_sockets",
            level="info",
            subject=about(rank),
            sentence=f"{workload.key} computes on {words.gpus(machine, rank.gpus)} of {len(sides)} sockets from one "
            f"process ({process.comm}, pid {process.key.pid}): wherever it runs, some of them are remote.",
            value=float(len(sides)),
            limit=1.0,
            confidence=trust(rank),
            evidence=tuple(line for gpu in placed for line in evidence.affinity(gpu)),
            remedy="\n".join(_per_socket(machine, sides)),
            remedy_note="One process per GPU, or at least per socket, each bound; without one, nothing can be judged.\n"
            f"{POLICY_NEEDS}.\nEffect unknown.",
        )


def _by_socket(machine: Machine, process: PlacedProcess) -> dict[int, list[str]]:
    """UUIDs of its main GPUs by socket; empty where used bytes or a socket are not known."""
    found: dict[int, list[str]] = {}
    for held in process.holdings:
        gpu = machine.gpu(held.uuid)
        if held.role != "main":
            continue
        if held.used_bytes is None or gpu is None or len(gpu.sockets) != 1:
            return {}
        found.setdefault(min(gpu.sockets), []).append(held.uuid)
    return found


def _per_socket(machine: Machine, sides: dict[int, list[str]]) -> Iterator[str]:
    for _, uuids in sorted(sides.items()):
        home = frozenset(node for uuid in uuids if (gpu := machine.gpu(uuid)) for node in gpu.affinity)
        cpus = idlist.render(words.cpus_of(machine, home))
        visible = ",".join(sorted(set(uuids)))
        # numactl refuses a node without memory.
        mems = idlist.render(placed.id for placed in machine.nodes if placed.id in home and placed.has_memory)
        bound = f"--physcpubind={cpus} --membind={mems}" if mems else f"--physcpubind={cpus}"
        yield f"CUDA_VISIBLE_DEVICES={visible} numactl {bound} COMMAND"


RULE = Rule(
    code="process_spans_sockets",
    levels=("info",),
    docs="One process computes on GPUs of several sockets: bind one process per GPU instead.",
    find=find,
    looks=True,
)
