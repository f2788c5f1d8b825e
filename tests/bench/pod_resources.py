"""What a look at the kubelet's PodResources API costs at 110 pods, a kubelet's default limit."""

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from statistics import median

from google.protobuf.message import Message

from numa_exporter.sources.grpc_socket import POD_RESOURCES, GrpcSocket
from numa_exporter.sources.live import LiveHost
from numa_exporter.sources.look import Look
from numa_exporter.sources.pod_resources import PodResourcesLook
from numa_exporter.sources.roots import Roots
from tests.bench.benchmark import Bar, Benchmark, Result
from tests.kubernetes.podresources_server import gpu_pod, pods, serving

PODS, WITH_GPUS, ROUNDS = 110, 8, 200


def answers(seed: int) -> Callable[[Message], Message]:
    """List as a kubelet gives it: the pods in another order each time, and with them the CPUs of those with GPUs."""
    random = Random(seed)

    def pod(number: int) -> dict[str, object]:
        if number >= WITH_GPUS:
            return gpu_pod(name=f"web-{number}")
        cpus = list(range(16 * number, 16 * number + 16))
        random.shuffle(cpus)
        return gpu_pod(f"GPU-{number:08d}-1111-2222-3333-444444444444", name=f"llm-{number}", cpus=tuple(cpus))

    def answer(_: Message) -> Message:
        numbers = list(range(PODS))
        random.shuffle(numbers)
        return pods(*map(pod, numbers))

    return answer


def thread_seconds(call: Callable[[], object]) -> float:
    """CPU time of this thread, kernel included: the server's thread is not the exporter's cost."""
    began = time.thread_time()
    call()
    return time.thread_time() - began


def run() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "kubelet.sock", List=answers(1)):
        client = GrpcSocket(str(Path(folder) / "kubelet.sock"), POD_RESOURCES, "kubelet", deadline=30.0)
        look, kept = Look(LiveHost(Roots(), kubelet=client)), PodResourcesLook()
        kept.pods(look)
        call = [thread_seconds(partial(client.ask, "List", b"")) for _ in range(ROUNDS)]
        first = [thread_seconds(partial(PodResourcesLook().pods, look)) for _ in range(ROUNDS)]
        later = [thread_seconds(partial(kept.pods, look)) for _ in range(ROUNDS)]
        client.close()
    rows = (("the call alone", call), ("the call and decoding all pods", first), ("the same at a later look", later))
    yield Result(
        columns=("what", "CPU, ms", "least"),
        rows=tuple((what, 1000 * median(taken), 1000 * min(taken)) for what, taken in rows),
        bars=(Bar(what="a later look, CPU ms", measured=1000 * median(later), limit=1.0),),
        notes=(f"{WITH_GPUS} of {PODS} pods have a GPU and 16 exclusive CPUs, whose order differs at each look",),
    )


BENCHMARK = Benchmark(
    name="pod_resources",
    title="The kubelet's PodResources",
    method=f"CPU time of the asking thread for List at {PODS} pods over a unix socket, as is asked once an interval; "
    f"medians of {ROUNDS}. The server is the tests' own, in another thread, and gives the pods in a new order each "
    "time, as a kubelet does. Later looks decode the pods that changed.",
    run=run,
)
