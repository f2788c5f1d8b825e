"""Pods that were given GPUs, and what Kubernetes says of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numa_exporter.formats import idlist
from tests.kubernetes.e2e import settings
from tests.kubernetes.e2e.cluster import Cluster, eventually
from tests.kubernetes.e2e.device_plugin import RESOURCE
from tests.kubernetes.e2e.images import SLEEP

NAMESPACE = "team-a"


def pod(name: str, **resources: Mapping[str, Any]) -> dict[str, Any]:
    """A pod whose containers, named by keyword, have these resources and sleep."""
    containers = [
        {"name": container, "image": settings.WORKLOAD_IMAGE, "command": SLEEP, "resources": wanted}
        for container, wanted in resources.items()
    ]
    metadata = {"name": name, "namespace": NAMESPACE}
    # a process that sleeps as process 1 does not hear SIGTERM
    specification = {"containers": containers, "terminationGracePeriodSeconds": 0}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": specification}


def guaranteed(gpus: int) -> dict[str, Any]:
    """One whole CPU of its own."""
    return {"limits": {"cpu": "1", "memory": "64Mi", RESOURCE: str(gpus)}}


def burstable(gpus: int) -> dict[str, Any]:
    return {"requests": {"memory": "16Mi"}, "limits": {RESOURCE: str(gpus)}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A container as kubectl shows it; `pid` is of its first process as containerd knows it."""

    pod: str
    container: str
    pod_uid: str
    container_id: str
    qos_class: str
    gpus: frozenset[str]
    cpus: frozenset[int]
    pid: int

    @property
    def labels(self) -> dict[str, str]:
        return {"namespace": NAMESPACE, "pod": self.pod, "container": self.container}

    @property
    def identity(self) -> dict[str, str]:
        """Labels of numa_workload_info. With the cgroupfs driver no path tells the runtime: its own files do."""
        ids = {"pod_uid": self.pod_uid, "container_id": self.container_id, "qos_class": self.qos_class}
        return self.labels | ids | {"runtime": "containerd"}


def start(cluster: Cluster, *pods: dict[str, Any]) -> list[Running]:
    """Creates the pods and tells of their containers once all run."""
    cluster.apply(*pods)
    names = [pod["metadata"]["name"] for pod in pods]
    wait = ("wait", "--for=condition=Ready", f"--namespace={NAMESPACE}", "--timeout=60s")
    cluster.kubectl(*wait, *(f"pod/{name}" for name in names))
    pids = eventually(lambda: _pids(cluster))
    found = [cluster.get("pod", name, f"--namespace={NAMESPACE}") for name in names]
    return [_running(cluster, pod, status, pids) for pod in found for status in pod["status"]["containerStatuses"]]


def _running(cluster: Cluster, pod: Any, status: Any, pids: Mapping[str, int]) -> Running:
    name, container = pod["metadata"]["name"], status["name"]
    identity = status["containerID"].removeprefix("containerd://")
    inside = ("exec", f"--namespace={NAMESPACE}", name, f"--container={container}", "--", "/bin/busybox")
    environment = dict(line.split("=", 1) for line in cluster.kubectl(*inside, "env").splitlines())
    allowed = cluster.kubectl(*inside, "grep", "Cpus_allowed_list", "/proc/1/status").split()[1]
    return Running(
        pod=name,
        container=container,
        pod_uid=pod["metadata"]["uid"],
        container_id=identity,
        qos_class=pod["status"]["qosClass"],
        gpus=frozenset(filter(None, environment.get("NVIDIA_VISIBLE_DEVICES", "").split(","))),
        cpus=frozenset(idlist.parse(allowed.encode(), "Cpus_allowed_list")),
        pid=pids[identity],
    )


def _pids(cluster: Cluster) -> dict[str, int]:
    lines = cluster.run("ctr", "--namespace=k8s.io", "tasks", "list").splitlines()[1:]
    return {identity: int(pid) for identity, pid, *_ in (line.split() for line in lines)}
