"""What each inference engine calls the binding of its workers: data, checked against the engines' own sources."""

from dataclasses import dataclass
from typing import Literal

from numa_exporter.model.placement import Rank

CHECKED = "2026-11"
"""When the rows below were last compared with documentation and source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """``comms``: beginnings of the process names that give it away (the kernel keeps 15 characters).

    ``flag`` is filled with ``nodes`` (home node of each GPU in order, blank-separated) or, ``per`` GPU after its
    ``command``, with ``gpu``, ``node`` and ``cpus``. ``memory_policy``: it calls set_mempolicy, which a container's
    profile may block.
    """

    name: str
    comms: tuple[str, ...]
    flag: str
    command: str = ""
    per: Literal["engine", "gpu"] = "engine"
    memory_policy: bool = False
    note: str = ""


ENGINES = (
    Engine(
        name="vLLM",
        comms=("VLLM::", "vllm"),
        # vllm/utils/numa_utils.py: wraps each worker in numactl; without set_mempolicy it falls back and only warns.
        flag="vllm serve ... --numa-bind --numa-bind-nodes {nodes}",
        memory_policy=True,
        note="Its image must have numactl; one node per visible GPU, in its own order.",
    ),
    Engine(
        name="SGLang",
        comms=("sglang::",),
        # sglang/srt/utils/numa_utils.py, ServerArgs.numa_node: one node per scheduler process.
        flag="python -m sglang.launch_server ... --numa-node {nodes}",
        memory_policy=True,
        note="One node per rank, in its own order.",
    ),
    Engine(
        name="TensorRT-LLM",
        comms=("trtllm-", "mgmn_"),
        # docs/source/deployment-guide/configuring-cpu-affinity.md; NVIDIA/TensorRT-LLM#18701, #9549.
        flag="TLLM_NUMA_AWARE_WORKER_AFFINITY=1 OMPI_MCA_hwloc_base_binding_policy=none trtllm-serve ...",
        note="It binds CPUs only, after the worker has started; measure before you keep it.",
    ),
    Engine(
        name="Triton",
        comms=("tritonserver", "triton_python_b"),
        # triton core, --host-policy: that of a GPU's instances is called gpu_N; numa-node rules the pinned pool too.
        flag="--host-policy=gpu_{gpu},numa-node={node} --host-policy=gpu_{gpu},cpu-cores={cpus}",
        command="tritonserver ...",
        per="gpu",
        memory_policy=True,
        note="N of gpu_N is the ordinal that Triton sees.",
    ),
)


def engine_of(rank: Rank) -> Engine | None:
    """The engine, only where the name of a process says so."""
    names = [process.comm for process in rank.processes]
    return next((engine for engine in ENGINES if any(name.startswith(engine.comms) for name in names)), None)
