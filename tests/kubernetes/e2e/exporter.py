"""The exporter on the cluster: installed from the chart, read over HTTP."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from prometheus_client.parser import text_string_to_metric_families

from numa_exporter import __version__
from tests.kubernetes.e2e.cluster import REPOSITORY, Cluster, eventually
from tests.nvml.build import NvmlShim

CHART = REPOSITORY / "deploy" / "helm" / "numa-exporter"
RELEASE = NAMESPACE = "numa-exporter"
IMAGE = f"docker.io/library/numa-exporter:{__version__}"  # the chart's default, as containerd spells it
DRIVER_ROOT = "/driver-root"  # where the chart mounts it

Labels = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporter:
    cluster: Cluster
    address: str

    def samples(self, name: str) -> list[tuple[Labels, float]]:
        """The series of a metric, as a scrape sees them now."""
        text = self.cluster.fetch(f"http://{self.address}/metrics")
        samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
        return [(sample.labels, sample.value) for sample in samples if sample.name == name]


def assert_series(found: Sequence[tuple[Labels, float]] | Sequence[Labels], expected: Sequence[Labels]) -> None:
    """As many series as expected, each expected one with at least its labels."""
    labels = [series if isinstance(series, dict) else series[0] for series in found]
    assert len(labels) == len(expected), labels
    for wanted in expected:
        assert any(wanted.items() <= series.items() for series in labels), (wanted, labels)


def install(cluster: Cluster, shim: NvmlShim, driver_root: Path) -> Exporter:
    """Installs the chart and waits until its DaemonSet is ready. The shim stands in the driver's place."""
    values = {
        "interval": 1,
        "nvml": {"access": "driverRoot", "driverRoot": str(driver_root)},
        "extraEnv": [{"name": "NVML_SHIM_FILE", "value": f"{DRIVER_ROOT}/{shim.file.relative_to(driver_root)}"}],
    }
    file = cluster.folders.configuration / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    where = ("--namespace", NAMESPACE, "--create-namespace")
    cluster.helm("install", RELEASE, str(CHART), *where, "--values", str(file), "--wait", "--timeout=120s")
    # helm is content where a tenth of the pods, rounded up, is not ready: here that is all
    cluster.kubectl("rollout", "status", f"daemonset/{RELEASE}", f"--namespace={NAMESPACE}", "--timeout=120s")
    return Exporter(cluster=cluster, address=eventually(lambda: _address(cluster)))


def _address(cluster: Cluster) -> str:
    (pod,) = cluster.get("pods", f"--namespace={NAMESPACE}")["items"]
    (container,) = pod["spec"]["containers"]
    (port,) = container["ports"]
    return f"{pod['status']['podIP']}:{port['containerPort']}"


def import_image(cluster: Cluster, archive: Path) -> None:
    """Gives containerd the images of a `docker save` archive."""
    cluster.run("ctr", "--namespace=k8s.io", "images", "import", str(archive))
