"""A device plugin of the tests' own: GPUs with a NUMA node for the kubelet to give away.

Run as `python -m tests.kubernetes.e2e.device_plugin UUID=NUMA_NODE...` on the node. It registers again whenever the
kubelet comes back, as real plugins do: a starting kubelet empties the folder of their sockets.
"""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence

from grpclib.client import Channel, UnaryUnaryMethod
from grpclib.const import Cardinality, Handler
from grpclib.server import Server, Stream

from tests.kubernetes.e2e import deviceplugin_pb2 as pb
from tests.kubernetes.e2e import settings
from tests.kubernetes.e2e.cluster import Cluster

RESOURCE = "nvidia.com/gpu"
FOLDER = "/var/lib/kubelet/device-plugins"
ENDPOINT = "e2e.sock"
SERVICE = "/v1beta1.DevicePlugin"


def command(gpus: Mapping[str, int]) -> list[str]:
    """The command line of a plugin that offers these GPUs, given with their NUMA nodes."""
    offered = (f"{uuid}={node}" for uuid, node in gpus.items())
    return [sys.executable, "-m", "tests.kubernetes.e2e.device_plugin", *offered]


def registered(cluster: Cluster, uuids: Sequence[str]) -> None:
    """AssertionError unless the kubelet has told the control plane of as many GPUs."""
    allocatable = cluster.get("node", settings.NODE_NAME)["status"]["allocatable"]
    assert allocatable.get(RESOURCE) == str(len(uuids))


class DevicePlugin:
    """`gpus` gives the NUMA node of each UUID."""

    def __init__(self, gpus: Mapping[str, int]) -> None:
        self._devices = [
            pb.Device(ID=uuid, health="Healthy", topology=pb.TopologyInfo(nodes=[pb.NUMANode(ID=node)]))
            for uuid, node in gpus.items()
        ]

    async def options(self, stream: "Stream[pb.Empty, pb.DevicePluginOptions]") -> None:
        await stream.recv_message()
        await stream.send_message(pb.DevicePluginOptions())

    async def list_and_watch(self, stream: "Stream[pb.Empty, pb.ListAndWatchResponse]") -> None:
        await stream.recv_message()
        await stream.send_message(pb.ListAndWatchResponse(devices=self._devices))
        await asyncio.Event().wait()  # they never change; the kubelet takes an ended stream for a dead plugin

    async def allocate(self, stream: "Stream[pb.AllocateRequest, pb.AllocateResponse]") -> None:
        request = await stream.recv_message()
        assert request is not None
        answers = [
            pb.ContainerAllocateResponse(envs={"NVIDIA_VISIBLE_DEVICES": ",".join(container.devicesIDs)})
            for container in request.container_requests
        ]
        await stream.send_message(pb.AllocateResponse(container_responses=answers))

    def __mapping__(self) -> dict[str, Handler]:
        unary, stream = Cardinality.UNARY_UNARY, Cardinality.UNARY_STREAM
        return {
            f"{SERVICE}/GetDevicePluginOptions": Handler(self.options, unary, pb.Empty, pb.DevicePluginOptions),
            f"{SERVICE}/ListAndWatch": Handler(self.list_and_watch, stream, pb.Empty, pb.ListAndWatchResponse),
            f"{SERVICE}/Allocate": Handler(self.allocate, unary, pb.AllocateRequest, pb.AllocateResponse),
        }


async def register() -> None:
    channel = Channel(path=f"{FOLDER}/kubelet.sock")
    try:
        call = UnaryUnaryMethod(channel, "/v1beta1.Registration/Register", pb.RegisterRequest, pb.Empty)
        await call(pb.RegisterRequest(version="v1beta1", endpoint=ENDPOINT, resource_name=RESOURCE))
    finally:
        channel.close()


async def serve(gpus: Mapping[str, int]) -> None:
    socket = f"{FOLDER}/{ENDPOINT}"
    while True:
        while not os.path.exists(f"{FOLDER}/kubelet.sock"):
            await asyncio.sleep(0.1)
        server = Server([DevicePlugin(gpus)])
        await server.start(path=socket)
        await register()
        while os.path.exists(socket):
            await asyncio.sleep(0.1)
        server.close()
        await server.wait_closed()


if __name__ == "__main__":
    pairs = (argument.rpartition("=") for argument in sys.argv[1:])
    asyncio.run(serve({uuid: int(node) for uuid, _, node in pairs}))
