"""What a container runtime says over its CRI socket of one container: the kubelet's labels, and nothing else.

kubernetes cri-api/pkg/apis/runtime/v1; the messages are in cri.proto. The labels are the kubelet's
(pkg/kubelet/types/labels.go), which gives them to every container that it starts.
"""

from collections.abc import Mapping

from numa_exporter.formats.parse_error import ParseError

METHOD = "ListContainers"
NAMESPACE = "io.kubernetes.pod.namespace"
POD = "io.kubernetes.pod.name"
CONTAINER = "io.kubernetes.container.name"


def request(container_id: str) -> bytes:
    """The question for one container. A runtime takes it for a prefix: the answer can hold others."""
    from numa_exporter.formats import cri_pb2 as pb  # here, because only hosts that are asked need protobuf

    return pb.ListContainersRequest(filter=pb.ContainerFilter(id=container_id)).SerializeToString()


def parse(data: bytes, path: str) -> Mapping[str, Mapping[str, str]]:
    """The three labels by container id, as far as each has them."""
    from google.protobuf.message import DecodeError

    from numa_exporter.formats import cri_pb2 as pb

    try:
        message = pb.ListContainersResponse.FromString(data)
    except DecodeError as error:
        raise ParseError(path, 1, data[:64], f"a protobuf message ({error})") from error
    return {
        container.id: {key: container.labels[key] for key in (NAMESPACE, POD, CONTAINER) if container.labels.get(key)}
        for container in message.containers
    }
