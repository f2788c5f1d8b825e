"""GPU workloads that go with the grain of their machine, or against it in one way each; running.py starts them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tests.lab.containers import Container

BIG = 8192
"""MiB on a GPU: a main holding."""
STRAY = 534
"""MiB: what a context takes that a library opened (H100)."""
ON_0 = MappingProxyType({0: BIG})
ON_1 = MappingProxyType({1: BIG})
BOTH = MappingProxyType({0: BIG, 1: BIG})
NONE: Mapping[int, int] = MappingProxyType({})

NEAR, FAR = "--cpunodebind=0 --membind=0", "--cpunodebind=1 --membind=1"
# the same by the process itself, which spares an emulated CPU the start of numactl
BIND_0, BIND_1 = "cpus=0-1 policy=bind:0", "cpus=2-3 policy=bind:1"
ANON = "hold=anon:12"
CUDA = "open=/dev/nvidiactl open=/dev/nvidia-uvm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """A process: `numactl` options around engine.c with `steps`.

    `gpus` are the MiB that NVML says it has on which GPU; one without any is another process of the container.
    `loading`: what it has there grows from moment to moment. A container is its workload's own unless given.
    """

    gpus: Mapping[int, int] = field(default_factory=lambda: ON_0)
    numactl: str = ""
    steps: str = ANON
    container: Container | None = None
    loading: bool = False


def _pod(name: str, cpus: str, mems: str = "") -> Container:
    return Container(pod=name, qos="guaranteed", cpus=cpus, mems=mems)


# Two sockets of one node each; GPU 0 is on node 0 with CPUs 0-1, GPU 1 on node 1 with CPUs 2-3.
TWO_SOCKETS = MappingProxyType(
    {
        # with the grain
        "good": (Rank(numactl=NEAR), Rank(gpus=ON_1, numactl=FAR)),
        "good_busy": (Rank(steps=f"{BIND_0} hold=anon:12 busy=6"),),
        "confined": (Rank(container=_pod("confined", "0-1", "0")),),
        # one thing against it each
        "remote_cpu": (Rank(numactl="--cpunodebind=1 --membind=0", steps="hold=anon:12 busy=25"),),
        "remote_memory": (Rank(numactl="--cpunodebind=0 --membind=1"),),
        "prefer_many": (Rank(steps="cpus=0-1 policy=prefer_many:1 hold=anon:12"),),
        "interleave": (Rank(numactl="--cpunodebind=0 --interleave=all"),),
        "thp": (Rank(steps="cpus=0-1 policy=bind:1 hold=thp:12"),),
        "hugetlb": (Rank(steps="cpus=0-1 policy=bind:1 hold=hugetlb:8"),),
        "shared": (Rank(numactl=FAR, steps="hold=shm:4 hold=shmem_anon:6 hold=memfd:8"),),
        "driver": (Rank(steps="cpus=2-3 open=/dev/nvidia0 open=/dev/nvidia-uvm hold=driver:8"),),
        "host_buffers": (
            Rank(steps=f"{BIND_0} hold=anon:52 policy=bind:1 hold=shmem_anon:5 policy=bind:0 hold=anon:4"),
        ),
        "before_bind": (Rank(steps="cpus=0-1 policy=bind:1 hold=anon:5 policy=bind:0 hold=anon:28"),),
        "swapped": (Rank(numactl=FAR), Rank(gpus=ON_1, numactl=NEAR)),
        "escaped_threads": (Rank(steps=f"{BIND_0} hold=anon:8 busy=2 thread=2-3 busy=3" + 5 * " thread=0-1"),),
        "astray": (Rank(gpus=ON_1, steps="policy=bind:1 hold=anon:12", container=_pod("astray", "0-1")),),
        "wide_mems": (Rank(container=_pod("wide_mems", "0-1")),),
        "wide_cpus": (Rank(steps="policy=bind:0 hold=anon:12", container=_pod("wide_cpus", "0,2-3")),),
        # what looks like it and is not
        "wide_mems_bound": (Rank(steps="policy=bind:0 hold=anon:12", container=_pod("wide_mems_bound", "0-1")),),
        "wide_cpus_bound": (
            Rank(steps="cpus=0 policy=bind:0 hold=anon:12", container=_pod("wide_cpus_bound", "0,2-3")),
        ),
        "prefer_near": (Rank(steps="cpus=0-1 policy=prefer:0 hold=anon:12"),),
        "few_host_buffers": (Rank(steps=f"{BIND_0} hold=anon:12 policy=bind:1 hold=shmem_anon:2 policy=bind:0"),),
        "few_before_bind": (Rank(steps="cpus=0-1 policy=bind:1 hold=anon:2 policy=bind:0 hold=anon:8"),),
        "stray": (Rank(gpus=MappingProxyType({0: BIG, 1: STRAY}), steps=f"{BIND_0} hold=anon:12"),),
        "monitor": (
            Rank(gpus=MappingProxyType({0: 0, 1: 0}), steps="comm=nv-hostengine open=/dev/nvidia0 open=/dev/nvidia1"),
        ),
        "all_gpus": (Rank(gpus=BOTH, steps="policy=interleave:0-1 hold=anon:12"),),
        "nccl": (Rank(steps="policy=bind:0 hold=anon:8 busy=2 thread=0-1 thread=0-1 busy=0"),),
        "segment": (
            Rank(steps=f"{BIND_0} hold=anon:8 mbind=interleave:0-1 share=segment:12"),
            Rank(gpus=ON_1, steps=f"{BIND_1} hold=anon:8 mbind=interleave:0-1 share=segment:12"),
        ),
        "tmpfs_weights": (
            Rank(steps=f"{BIND_0} hold=anon:8 mbind=bind:1 share=weights:12"),
            Rank(gpus=ON_1, steps=f"{BIND_1} hold=anon:8 mbind=bind:1 share=weights:12"),
        ),
        "file_weights": (Rank(steps="cpus=0-1 policy=bind:1 hold=file:12 policy=bind:0 hold=anon:8"),),
        "pool": (Rank(steps="cpus=0-1 hold=anon:8 mbind=interleave:0-1 hold=anon:12"),),
        "forked": (Rank(steps=f"{BIND_0} hold=anon:12 fork=2"), Rank(gpus=NONE, steps=f"{BIND_1} hold=anon:12")),
        "loading": (Rank(steps="cpus=0-1 policy=bind:1 hold=anon:12 policy=default", loading=True),),
        "idle": (Rank(steps="cpus=2-3 policy=bind:0 hold=anon:12"),),
    }
)
# kernels from 6.9 on
NEWER = MappingProxyType({"weighted_interleave": (Rank(steps="cpus=0-1 policy=weighted:0-1 hold=anon:12"),)})
# GPU n is on node n, which has CPU n; nodes 0 and 1 are one socket
SUB_NUMA = MappingProxyType(
    {
        "home": (Rank(numactl=NEAR),),
        "next_door": (Rank(numactl=FAR),),
        "across": (Rank(numactl="--cpunodebind=0 --membind=2"),),
        "next_door_cpuset": (Rank(container=_pod("next_door_cpuset", "1", "0-1")),),
        "far_cpuset": (Rank(container=_pod("far_cpuset", "2-3", "0-1")),),
    }
)
# GPU n is on node n; nodes 2 and 3 have no CPUs: the GPUs' own memory, or an expander's
MEMORY_ONLY = MappingProxyType(
    {
        "beside": (Rank(steps="cpus=0-1 mbind=bind:2 hold=anon:32"),),
        "beyond": (Rank(steps="cpus=0-1 mbind=bind:3 hold=anon:32"),),
    }
)
# node 1 has CPUs 2-3 and no memory; numactl refuses such a node
NO_MEMORY = MappingProxyType({"empty_bank": (Rank(gpus=ON_1, steps="cpus=2-3 hold=anon:12"), Rank(numactl=NEAR))})
ONE_NODE = MappingProxyType({"alone": (Rank(),)})
# a file cache takes all of node 0 first
FULL_NODE = MappingProxyType(
    {
        "spilled": (Rank(steps="cpus=0 hold=anon:8 grow=100"),),
        "kept": (Rank(steps="cpus=0 policy=bind:0 hold=anon:8 grow=100"),),
    }
)
# GPUs 0 and 1 are on node 0, 0 and 2 beside a NIC
DEVICES = MappingProxyType(
    {
        "near_nic": (Rank(numactl=NEAR), Rank(gpus=MappingProxyType({2: BIG}), numactl=FAR)),
        "opens_all": (
            Rank(
                gpus=ON_1,
                steps=f"policy=bind:0 hold=anon:8 {CUDA}" + "".join(f" open=/dev/nvidia{n}" for n in range(4)),
            ),
        ),
        "opens_one": (Rank(gpus=ON_1, steps=f"cpus=0 policy=bind:1 hold=anon:12 {CUDA} open=/dev/nvidia1"),),
    }
)

WORKLOADS: Mapping[str, tuple[Rank, ...]] = MappingProxyType(
    {
        **TWO_SOCKETS,
        **NEWER,
        **SUB_NUMA,
        **MEMORY_ONLY,
        **NO_MEMORY,
        **ONE_NODE,
        **FULL_NODE,
        **DEVICES,
    }
)
