"""What happens on a node while the exporter looks. After test_chart.py: these change the node."""

import pytest

from tests.kubernetes.e2e import device_plugin, gpus, workloads
from tests.kubernetes.e2e.cluster import eventually
from tests.kubernetes.e2e.exporter import Exporter, assert_series
from tests.kubernetes.e2e.workloads import Running
from tests.nvml.build import NvmlShim

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("e2e")]


def test_a_kubelet_that_comes_back_changes_nothing(installed: Exporter, running: list[Running]) -> None:
    node = installed.cluster
    (killed,) = node.run("pgrep", "--exact", "kubelet").split()
    node.run("kill", "-KILL", killed)
    eventually(lambda: _another(node.run("pgrep", "--exact", "kubelet"), killed))
    eventually(lambda: device_plugin.registered(node, gpus.UUIDS))

    def look() -> None:
        up = {labels["source"]: value for labels, value in installed.samples("numa_exporter_source_up")}
        assert up["kubelet"] == 1
        assert_series(installed.samples("numa_workload_info"), [container.identity for container in running])

    eventually(look)


def _another(pid: str, killed: str) -> None:
    assert pid.strip() != killed


def test_a_pod_that_is_deleted_is_forgotten(installed: Exporter, shim: NvmlShim, running: list[Running]) -> None:
    left = [container for container in running if container.pod != "serve-0"]
    installed.cluster.kubectl("delete", "pod", "serve-0", f"--namespace={workloads.NAMESPACE}")
    gpus.write(shim, left)
    granted = {uuid for container in left for uuid in container.gpus}

    def look() -> None:
        assert {labels["pod"] for labels, _ in installed.samples("numa_workload_info")} == {"train-0"}
        assert {labels["uuid"] for labels, value in installed.samples("numa_gpu_granted") if value == 1} == granted

    eventually(look)
