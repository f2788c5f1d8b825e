"""A kubelet's PodResources socket that says what a test wants: what real kubelets lack, refuse or never answer.

    with serving(path, List=pods(gpu_pod("GPU-0")), GetAllocatableResources=HANG) as server: ...

A method that is not named is UNIMPLEMENTED, as with an old kubelet. Messages are those of podresources.proto.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from grpclib.const import Cardinality, Handler, Status
from grpclib.exceptions import GRPCError
from grpclib.protocol import H2Protocol
from grpclib.server import Server, Stream

from numa_exporter.formats import podresources_pb2 as pb

HANG = "hang"
Script = Message | GRPCError | str
REQUESTS: Mapping[str, type[Message]] = {
    "List": pb.ListPodResourcesRequest,
    "GetAllocatableResources": pb.AllocatableResourcesRequest,
    "Get": pb.GetPodResourcesRequest,
}
REPLIES: Mapping[str, type[Message]] = {
    "List": pb.ListPodResourcesResponse,
    "GetAllocatableResources": pb.AllocatableResourcesResponse,
    "Get": pb.GetPodResourcesResponse,
}
DISABLED = GRPCError(Status.UNKNOWN, "PodResources API GetAllocatableResources disabled")


class _Server(Server):
    """One that can drop its connections, as a killed process does; grpclib's lets them be served to the end."""

    def __init__(self, handlers: list[object]) -> None:
        super().__init__(handlers)  # type: ignore[arg-type]
        self._connections: list[H2Protocol] = []

    def _protocol_factory(self) -> H2Protocol:
        made = super()._protocol_factory()
        self._connections.append(made)
        return made

    def drop(self) -> None:
        for made in self._connections:
            if hasattr(made, "processor"):
                made.processor.close()


class PodResourcesServer:
    """``script`` may be changed while it serves; ``asked`` are the methods in the order of their calls."""

    def __init__(self, path: Path, script: Mapping[str, Script]) -> None:
        self.path = path
        self.script = dict(script)
        self.asked: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._server: _Server | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def __mapping__(self) -> Mapping[str, Handler]:
        return {
            f"/v1.PodResourcesLister/{method}": Handler(
                self._handler(method), Cardinality.UNARY_UNARY, REQUESTS[method], REPLIES[method]
            )
            for method in REQUESTS
        }

    def _handler(self, method: str) -> Callable[[Stream[Message, Message]], object]:
        async def handle(stream: Stream[Message, Message]) -> None:
            await stream.recv_message()
            self.asked.append(method)
            # grpclib's own answer to an unknown method lacks the content type that Go's has.
            said = self.script.get(method, GRPCError(Status.UNIMPLEMENTED, "unknown method"))
            if isinstance(said, GRPCError):
                raise said
            if isinstance(said, str):
                await asyncio.Event().wait()
            else:
                await stream.send_message(said)

        return handle

    def start(self) -> None:
        """Serve on the socket. Again after a stop: a kubelet that restarted."""

        async def start() -> None:
            self.path.unlink(missing_ok=True)
            self._server = _Server([self])
            await self._server.start(path=str(self.path))

        asyncio.run_coroutine_threadsafe(start(), self._loop).result(10)

    def stop(self) -> None:
        """Drop every connection and stop listening. The socket's file stays, as it does when a kubelet is killed."""

        async def stop() -> None:
            if self._server is not None:
                self._server.close()
                self._server.drop()
                await self._server.wait_closed()
                self._server = None

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result(10)

    def end(self) -> None:
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


@contextmanager
def serving(path: Path, **script: Script) -> Iterator[PodResourcesServer]:
    server = PodResourcesServer(path, script)
    server.start()
    try:
        yield server
    finally:
        server.end()


def pods(*described: Mapping[str, object]) -> pb.ListPodResourcesResponse:
    """The answer to List from protobuf's JSON, in either spelling of its field names."""
    return ParseDict({"pod_resources": list(described)}, pb.ListPodResourcesResponse())


def allocatable(described: Mapping[str, object]) -> pb.AllocatableResourcesResponse:
    return ParseDict(described, pb.AllocatableResourcesResponse())


def gpu_pod(*ids: str, name: str = "llm-0", numa_node: int | None = 0, cpus: tuple[int, ...] = ()) -> dict[str, object]:
    """A pod whose only container holds these devices."""
    topology = {} if numa_node is None else {"topology": {"nodes": [{"ID": numa_node}]}}
    devices = [{"resource_name": "nvidia.com/gpu", "device_ids": list(ids), **topology}] if ids else []
    return {
        "name": name,
        "namespace": "prod",
        "containers": [{"name": "vllm", "devices": devices, "cpu_ids": list(cpus)}],
    }
