"""What Prometheus makes of a scrape: a real one, with the scrape_configs and with what the Operator makes of them.

Debian 12's Prometheus has no kubernetes_sd_configs, so file_sd_configs hands it the labels that one would give; the
end-to-end test has the real thing.
"""

import http.server
import json
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.chart import REPOSITORY, Helm, Object, one

pytestmark = pytest.mark.xdist_group("scraped")  # one server for all of them

KUBERNETES = REPOSITORY / "deploy" / "prometheus" / "kubernetes.yaml"
MACHINES = REPOSITORY / "deploy" / "prometheus" / "machines.yaml"

SCRAPE = """\
# TYPE numa_node_cpus gauge
numa_node_cpus{numa_node="0"} 16
# TYPE numa_workload_info gauge
numa_workload_info{namespace="llm",pod="chat-0",container="vllm",pod_uid="u"} 1
"""
PREFIX = "__meta_kubernetes_pod"
DISCOVERED = {
    "__meta_kubernetes_namespace": "monitoring",
    f"{PREFIX}_name": "numa-exporter-x7k2p",
    f"{PREFIX}_container_name": "numa-exporter",
    f"{PREFIX}_container_port_name": "metrics",
    f"{PREFIX}_phase": "Running",
    f"{PREFIX}_node_name": "gpu-01",
    f"{PREFIX}_label_app_kubernetes_io_name": "numa-exporter",
}


class Exporter(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(SCRAPE.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def exporter() -> Iterator[int]:
    """The port of a server of SCRAPE."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def as_the_operator_does(monitor: Object, files: Path) -> Object:
    """The scrape_config that the Prometheus Operator makes of a PodMonitor: its own relabellings come before ours."""
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    own = [
        {"source_labels": [f"{PREFIX}_phase"], "regex": "(Failed|Succeeded)", "action": "drop"},
        {"source_labels": [f"{PREFIX}_container_port_name"], "regex": endpoint["port"], "action": "keep"},
        {"source_labels": ["__meta_kubernetes_namespace"], "target_label": "namespace"},
        {"source_labels": [f"{PREFIX}_container_name"], "target_label": "container"},
        {"source_labels": [f"{PREFIX}_name"], "target_label": "pod"},
        {"target_label": "job", "replacement": "monitoring/numa-exporter"},
        {"source_labels": [f"{PREFIX}_label_app_kubernetes_io_name"], "regex": "(.+)", "target_label": "job"},
        {"target_label": "endpoint", "replacement": endpoint["port"]},
    ]
    names = {"sourceLabels": "source_labels", "targetLabel": "target_label"}
    ours = [{names.get(key, key): value for key, value in rule.items()} for rule in endpoint["relabelings"]]
    return {
        "job_name": "podMonitor",
        "honor_labels": endpoint["honorLabels"],
        "scrape_interval": "1s",
        "sample_limit": monitor["spec"]["sampleLimit"],
        "metrics_path": endpoint["path"],
        "scheme": endpoint["scheme"],
        "file_sd_configs": [{"files": [str(files)]}],
        # only to tell the two apart in this test
        "relabel_configs": [*own, *ours, {"target_label": "by", "replacement": "podMonitor"}],
    }


def the_job(file: Path, by: str) -> Object:
    (job,) = yaml.safe_load(file.read_text())["scrape_configs"]
    job["relabel_configs"].append({"target_label": "by", "replacement": by})
    return dict(job) | {"scrape_interval": "1s", "scrape_timeout": "1s", "job_name": f"{job['job_name']}-{by}"}


@pytest.fixture(scope="module")
def query(
    exporter: int, helm: Helm, need_tool: Callable[[str, str], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], list[dict[str, str]]]]:
    """Label sets that a query gives, once each of the three jobs has been scraped."""
    prometheus = need_tool("prometheus", "prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    targets = folder / "targets.json"
    ended = DISCOVERED | {f"{PREFIX}_phase": "Succeeded", f"{PREFIX}_node_name": "gone"}
    other = DISCOVERED | {f"{PREFIX}_container_port_name": "other", f"{PREFIX}_node_name": "other"}
    address = [f"127.0.0.1:{exporter}"]
    targets.write_text(json.dumps([{"targets": address, "labels": found} for found in (DISCOVERED, ended, other)]))
    plain = the_job(KUBERNETES, "kubernetes")
    del plain["kubernetes_sd_configs"]
    plain["file_sd_configs"] = [{"files": [str(targets)]}]
    machines = the_job(MACHINES, "machines")
    machines["static_configs"] = [{"targets": address}]
    monitor = as_the_operator_does(one(helm.template({"podMonitor.enabled": True}), "PodMonitor"), targets)
    configuration = folder / "prometheus.yml"
    configuration.write_text(yaml.safe_dump({"scrape_configs": [plain, machines, monitor]}))
    port = free_port()
    command = [
        prometheus,
        f"--config.file={configuration}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "log").open("w") as log, subprocess.Popen(command, stderr=log, stdout=log) as server:

        def ask(text: str) -> list[dict[str, str]]:
            question = urllib.parse.urlencode({"query": text})
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{question}") as answer:
                return [result["metric"] for result in json.load(answer)["data"]["result"]]

        try:
            wait_until(lambda: len(ask("group by (by) (numa_node_cpus)")) == 3, folder / "log")
            yield ask
        finally:
            server.terminate()


def free_port() -> int:
    with http.server.HTTPServer(("127.0.0.1", 0), Exporter) as server:
        return int(server.server_address[1])


def wait_until(condition: Callable[[], bool], log: Path) -> None:
    for _ in range(600):
        try:
            if condition():
                return
        except OSError:
            pass  # not listening yet
        time.sleep(0.1)
    pytest.fail(log.read_text())


@pytest.mark.parametrize("by", ["kubernetes", "podMonitor"])
def test_the_workloads_labels_stay_and_the_hosts_series_get_the_machine(
    query: Callable[[str], list[dict[str, str]]], by: str
) -> None:
    (host,) = query(f'numa_node_cpus{{by="{by}"}}')
    assert host["node"] == "gpu-01" and host["numa_node"] == "0"
    # not the exporter's own pod
    assert not {"namespace", "pod", "container", "endpoint"} & host.keys()
    (workload,) = query(f'numa_workload_info{{by="{by}"}}')
    assert (workload["namespace"], workload["pod"], workload["container"]) == ("llm", "chat-0", "vllm")
    assert not [label for label in workload if label.startswith("exported_")]
    assert workload["node"] == "gpu-01"


def test_a_machine_is_named_by_its_address(query: Callable[[str], list[dict[str, str]]]) -> None:
    (host,) = query('numa_node_cpus{by="machines"}')
    assert host["node"] == "127.0.0.1"


@pytest.mark.parametrize("by", ["kubernetes", "podMonitor"])
def test_ended_pods_and_other_ports_are_left_out(query: Callable[[str], list[dict[str, str]]], by: str) -> None:
    assert [up["node"] for up in query(f'up{{by="{by}"}}')] == ["gpu-01"]


def test_the_jobs_name_is_what_the_rules_look_for(query: Callable[[str], list[dict[str, str]]]) -> None:
    assert len(query('up{job=~".*numa[-_]exporter.*"}')) == 3


def test_promtool_takes_the_scrape_config(need_tool: Callable[[str, str], str]) -> None:
    done = subprocess.run(
        [need_tool("promtool", "prometheus"), "check", "config", MACHINES], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_scrape_config_says_what_the_pod_monitor_says(helm: Helm) -> None:
    (job,) = yaml.safe_load(KUBERNETES.read_text())["scrape_configs"]
    monitor = one(helm.template({"podMonitor.enabled": True}), "PodMonitor")["spec"]
    (endpoint,) = monitor["podMetricsEndpoints"]
    told: dict[str, Any] = {
        "scrape_interval": endpoint["interval"],
        "scrape_timeout": endpoint["scrapeTimeout"],
        "honor_labels": endpoint["honorLabels"],
        "sample_limit": monitor["sampleLimit"],
    }
    assert {key: job[key] for key in told} == told
    node = {"source_labels": [f"{PREFIX}_node_name"], "target_label": "node"}
    assert node in job["relabel_configs"]


def test_what_your_prometheus_selects_by(helm: Helm) -> None:
    labels = {"release": "kube-prometheus-stack"}
    objects = helm.template(
        {
            "podMonitor.enabled": True,
            "podMonitor.additionalLabels": labels,
            "podMonitor.relabelings": [{"targetLabel": "cluster", "replacement": "c1"}],
            "podMonitor.sampleLimit": 5000,
            "prometheusRule.enabled": True,
            "prometheusRule.additionalLabels": labels,
        }
    )
    for kind in ("PodMonitor", "PrometheusRule"):
        assert one(objects, kind)["metadata"]["labels"]["release"] == "kube-prometheus-stack"
    spec = one(objects, "PodMonitor")["spec"]
    assert spec["sampleLimit"] == 5000
    assert spec["podMetricsEndpoints"][0]["relabelings"][0] == {"targetLabel": "cluster", "replacement": "c1"}


@pytest.mark.parametrize("pain", [False, True])
def test_the_rules_are_the_reviewed_ones(helm: Helm, pain: bool) -> None:
    rules = REPOSITORY / "deploy" / "rules"
    subjects = ("drift", "rollups", "alerts", *(["pain"] if pain else []))
    plain = [
        group for name in subjects for group in yaml.safe_load((rules / f"{name}.rules.yaml").read_text())["groups"]
    ]
    objects = helm.template({"prometheusRule.enabled": True, "prometheusRule.pain": pain})
    assert one(objects, "PrometheusRule")["spec"]["groups"] == plain


@pytest.mark.parametrize("place", ["https://git.example.com/numa/blob/main", "https://git.example.com/numa/blob/main/"])
def test_runbooks_are_links_where_the_chart_is_told_their_place(helm: Helm, place: str) -> None:
    objects = helm.template({"prometheusRule.enabled": True, "prometheusRule.runbooks": place})
    rules = [rule for group in one(objects, "PrometheusRule")["spec"]["groups"] for rule in group["rules"]]
    links = {rule["annotations"]["runbook_url"] for rule in rules if "alert" in rule}
    assert links and all(link.startswith("https://git.example.com/numa/blob/main/docs/runbooks.md#") for link in links)


def test_dashboards_for_the_sidecar(helm: Helm) -> None:
    objects = helm.template({"dashboards.enabled": True, "dashboards.labels": {"grafana": "yes"}})
    boards = [made for made in objects if made["metadata"].get("labels", {}).get("grafana") == "yes"]
    held = {name: json.loads(text) for board in boards for name, text in board["data"].items()}
    ours = {file.name: json.loads(file.read_text()) for file in (REPOSITORY / "grafana").glob("*.json")}
    assert ours and held == ours


def test_a_packaged_chart_carries_rules_profile_and_dashboards(helm: Helm, tmp_path: Path) -> None:
    """In the tree they are links; a package has the files."""
    helm.run("package", str(REPOSITORY / "deploy" / "helm" / "numa-exporter"), "--destination", str(tmp_path))
    (package,) = tmp_path.glob("*.tgz")
    chosen = ["--set=podMonitor.enabled=true,prometheusRule.enabled=true,dashboards.enabled=true"]
    values = {"podMonitor.enabled": True, "prometheusRule.enabled": True, "dashboards.enabled": True}
    text = helm.run("template", "x", str(package), *chosen)
    kinds = [made["kind"] for made in yaml.safe_load_all(text) if made]
    assert sorted(kinds) == sorted(made["kind"] for made in helm.template(values))
