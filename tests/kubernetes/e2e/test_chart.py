"""The chart on a real node: what the exporter says is what Kubernetes says."""

import json
import sys

import pytest

from numa_exporter.formats import cri
from tests.kubernetes.e2e import workloads
from tests.kubernetes.e2e.cluster import eventually
from tests.kubernetes.e2e.exporter import NAMESPACE, Exporter, Labels, assert_series
from tests.kubernetes.e2e.prometheus import Prometheus
from tests.kubernetes.e2e.settings import CONTAINERD_SOCKET, NODE_NAME
from tests.kubernetes.e2e.workloads import Running

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("e2e")]


def test_the_daemonset_is_ready(installed: Exporter) -> None:
    (daemonset,) = installed.cluster.get("daemonsets", f"--namespace={NAMESPACE}")["items"]
    assert daemonset["status"]["numberReady"] == daemonset["status"]["desiredNumberScheduled"] == 1


def test_every_source_that_this_node_has_is_read(installed: Exporter) -> None:
    known = {"topology", "gpus", "processes", "cgroups", "threads", "memory", "kubelet"}
    assert eventually(lambda: _sources_down(installed, known)) == set()


def _sources_down(installed: Exporter, known: set[str]) -> set[str]:
    up = {labels["source"]: value for labels, value in installed.samples("numa_exporter_source_up")}
    assert known <= up.keys()
    return {source for source, value in up.items() if value != 1}


def test_workloads_are_the_containers_of_pods_that_hold_gpus(installed: Exporter, running: list[Running]) -> None:
    expected = [container.identity for container in running]
    eventually(lambda: assert_series(installed.samples("numa_workload_info"), expected))
    assert {container.qos_class for container in running} == {"Guaranteed", "Burstable"}


ASK = """
import json, sys
from numa_exporter.sources.grpc_socket import CRI, GrpcSocket
from numa_exporter.sources.live import LiveHost
from numa_exporter.sources.roots import Roots
host = LiveHost(Roots(), runtime=GrpcSocket(sys.argv[1], CRI, "cri", deadline=30.0))
print(json.dumps([dict(host.container_labels(container_id)) for container_id in sys.argv[2:]]))
"""


def test_containerd_tells_over_its_cri_socket_what_a_container_is_called(
    installed: Exporter, running: list[Running]
) -> None:
    """The last resort for names, which is off in the chart as it comes."""
    ids = [container.container_id for container in running]
    told = json.loads(installed.cluster.run(sys.executable, "-c", ASK, CONTAINERD_SOCKET, *ids, "f" * 64))
    expected = [
        {cri.NAMESPACE: workloads.NAMESPACE, cri.POD: container.pod, cri.CONTAINER: container.container}
        for container in running
    ]
    assert told == [*expected, {}]


def test_who_holds_a_gpu_is_whom_the_kubelet_gave_it_to(installed: Exporter, running: list[Running]) -> None:
    expected = {(uuid, container.pod, container.container) for container in running for uuid in container.gpus}

    def look() -> None:
        samples = installed.samples("numa_gpu_workload_info")
        assert {(labels["uuid"], labels["pod"], labels["container"]) for labels, _ in samples} == expected
        assert {(labels["role"], labels["evidence"]) for labels, _ in samples} == {("main", "nvml")}

    eventually(look)


def test_granted_gpus(installed: Exporter, running: list[Running]) -> None:
    allocated = frozenset[str]().union(*(container.gpus for container in running))
    assert len(allocated) == 3

    def look() -> None:
        granted = {labels["uuid"]: value for labels, value in installed.samples("numa_gpu_granted")}
        assert len(granted) == 4
        assert {uuid for uuid, value in granted.items() if value == 1} == allocated

    eventually(look)


def test_granted_cpus_are_those_that_only_the_guaranteed_container_may_use(
    installed: Exporter, running: list[Running]
) -> None:
    (guaranteed,) = (container for container in running if container.qos_class == "Guaranteed")
    others = [container for container in running if container is not guaranteed]
    assert all(guaranteed.cpus.isdisjoint(container.cpus) for container in others)
    expected = [guaranteed.labels | {"numa_node": "0"}]

    def look() -> None:
        samples = installed.samples("numa_workload_granted_cpus")
        assert_series(samples, expected)
        assert sum(value for _, value in samples) == len(guaranteed.cpus)

    eventually(look)


def test_a_container_may_use_the_cpus_that_it_sees(installed: Exporter, running: list[Running]) -> None:
    expected = {(container.pod, container.container): len(container.cpus) for container in running}

    def look() -> None:
        for metric in ("numa_rank_allowed_cpus", "numa_workload_cpuset_cpus"):
            allowed: dict[tuple[str, str], float] = {}
            for labels, value in installed.samples(metric):
                key = labels["pod"], labels["container"]
                allowed[key] = allowed.get(key, 0) + value
            assert allowed == expected, metric

    eventually(look)


def test_findings_on_grants_are_of_the_burstable_pod(installed: Exporter) -> None:
    def look() -> None:
        found = [labels for labels, _ in installed.samples("numa_findings")]
        about = {(labels["code"], labels["pod"], labels["container"]) for labels in found if "pod" in labels}
        nodes = [labels for labels, _ in installed.samples("numa_node_info") if labels["kind"] == "cpu"]
        # On a machine of one node nothing is gained by it.
        assert about == ({("not_exclusive", "serve-0", "engine")} if len(nodes) > 1 else set())

    eventually(look)


def test_the_policies_are_those_of_configz(installed: Exporter) -> None:
    answer = json.loads(installed.cluster.kubectl("get", f"--raw=/api/v1/nodes/{NODE_NAME}/proxy/configz"))
    configuration = answer["kubeletconfig"]

    def look() -> None:
        ((labels, _),) = installed.samples("numa_kubelet_policy_info")
        assert labels["cpu_manager"] == configuration["cpuManagerPolicy"] == "static"
        assert labels["topology_manager"] == configuration["topologyManagerPolicy"] == "single-numa-node"

    eventually(look)


def test_prometheus_finds_it_and_names_the_machine(scraped: Prometheus, running: list[Running]) -> None:
    eventually(lambda: assert_series(scraped.query("up == 1"), [{"job": "numa-exporter", "node": NODE_NAME}]))
    expected = [container.identity | {"node": NODE_NAME} for container in running]
    eventually(lambda: assert_series(scraped.query("numa_workload_info"), expected))


def test_series_of_the_machine_do_not_carry_the_exporters_own_pod(scraped: Prometheus) -> None:
    series = eventually(lambda: _some(scraped.query("numa_node_info")))
    assert all(labels["node"] == NODE_NAME for labels in series)
    assert not any({"namespace", "pod", "container", "exported_pod"} & labels.keys() for labels in series)


def _some(found: list[Labels]) -> list[Labels]:
    assert found
    return found
