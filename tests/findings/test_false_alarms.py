"""What is not wrong, and what people were woken for elsewhere: no warning."""

from dataclasses import replace

import pytest

from numa_exporter.model.machine import HugePagePool, NodeMemory
from tests.builders import GIB, MIB, NOON, Parts, gpu, sample, task, thread_group, threads, two_socket
from tests.findings.machines import GOOD, HOME, full_node, working
from tests.findings.watch import Script, under, watch


def steady(*tasks: object, parts: Parts | None = None) -> Script:
    return lambda at: sample(parts or two_socket(), *tasks, at=at)  # type: ignore[arg-type]


def hugetlb_on_one_node() -> Parts:
    parts = two_socket()
    first, second = parts.topology.nodes
    pool = HugePagePool(page_bytes=2 * MIB, total_bytes=64 * GIB, free_bytes=0)
    return parts.change_topology(nodes=(replace(first, hugepages=(pool,)), second))


def full_of_cache() -> Parts:
    parts = two_socket()
    memory = NodeMemory(total_bytes=512 * GIB, free_bytes=200 * MIB, reclaimable_bytes=450 * GIB)
    nodes = tuple(replace(one, memory=memory, numastat={"foreign": 10}) for one in parts.topology.nodes)
    return parts.change_topology(nodes=nodes)


SHARED = {"8:1:42": {0: 4 * GIB, 1: 4 * GIB}}
EVERY_GPU = {f"GPU-{index}": 40 * GIB for index in range(8)}
NCCL = threads(thread_group("0-63", {0: 5.0, 1: 5.0}), thread_group(HOME, {0: 2.0}, main=False, count=8))

SILENT: dict[str, Script] = {
    "stray contexts on other GPUs": steady(
        task(1, gpus={"GPU-0": 40 * GIB, "GPU-6": 0, "GPU-7": 534 * MIB}, mapped=GOOD)
    ),
    "a monitor that opens every GPU": steady(task(1, gpus=dict.fromkeys(EVERY_GPU, 0), comm="nv-hostengine")),
    "one process on all GPUs": steady(
        task(1, gpus=dict(EVERY_GPU), mapped={"anon": {0: 8 * GIB, 1: 8 * GIB}}, cpu={1: 1.0})
    ),
    "four and four GPUs (P35)": steady(*(task(1 + n, gpus=uuid) for n, uuid in enumerate(EVERY_GPU))),
    "NCCL's bound threads beside an unbound main thread": steady(replace(task(1, gpus="GPU-0"), threads=NCCL)),
    "a segment mapped by ranks of two sockets": steady(
        task(1, gpus="GPU-0", mapped={**GOOD, "shmem": {0: 4 * GIB, 1: 4 * GIB}}, segments=SHARED),
        task(2, gpus="GPU-7", mapped={"anon": {1: 4 * GIB}, "shmem": {0: 4 * GIB, 1: 4 * GIB}}, segments=SHARED),
    ),
    "remote file pages (P18)": steady(task(1, gpus="GPU-0", mapped={**GOOD, "file": {1: 90 * GIB}})),
    "a pool interleaved on purpose": steady(
        under(
            task(1, gpus="GPU-0", mapped={"anon": {0: 6 * GIB, 1: 2 * GIB}}),
            "default",
            **{"interleave:0-1": 4 * GIB, "default": 4 * GIB},
        )
    ),
    "a process that interleaves": steady(
        under(task(1, gpus="GPU-0", mapped={"anon": {0: 4 * GIB, 1: 4 * GIB}}), "interleave:0-1")
    ),
    "forked data loaders": steady(
        task(1, gpus="GPU-0", mapped=GOOD), *(task(10 + n, mapped={"anon": {0: GIB, 1: GIB}}) for n in range(4))
    ),
    "a rank still loading": lambda at: sample(
        two_socket(),
        task(1, gpus={"GPU-0": int((2 + at / 20) * GIB)}, mapped={"anon": {1: 9 * GIB}}, cpu={1: at}, started=NOON),
        at=at,
    ),
    "an idle rank": working({1: 0.05}),
    "a node full of page cache": steady(task(1, gpus="GPU-0", mapped=GOOD), parts=full_of_cache()),
    "a full node that sends nothing away": full_node(1.0),
    "a hugetlb pool on one node": steady(
        task(1, gpus="GPU-0", mapped={"anon": {0: GIB}, "hugetlb": {0: 64 * GIB}}), parts=hugetlb_on_one_node()
    ),
    "a GPU of unknown affinity": steady(
        task(1, gpus="GPU-0", mapped={"anon": {1: 9 * GIB}}), parts=two_socket().with_gpus(gpu(0, None))
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_no_warning(name: str) -> None:
    judged = watch(SILENT[name], 585)
    assert {finding.sentence for one in judged for finding in one.findings if finding.level == "warning"} == set()
    bad = [one for judgement in judged for row in judgement.verdicts.values() for one in row.values() if one.misaligned]
    assert not bad
