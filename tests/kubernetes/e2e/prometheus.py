"""A real Prometheus on the node that finds the exporter as deploy/prometheus/kubernetes.yaml tells it to."""

import base64
import contextlib
import json
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from tests.kubernetes.e2e import components, settings
from tests.kubernetes.e2e.cluster import REPOSITORY, Cluster, eventually

CONFIGURATION = REPOSITORY / "deploy" / "prometheus" / "kubernetes.yaml"
ACCOUNT = {"name": "prometheus", "namespace": "default"}
ROLE = "rbac.authorization.k8s.io/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prometheus:
    cluster: Cluster

    def query(self, expression: str) -> list[dict[str, str]]:
        """The label sets of an instant query's answer."""
        words = urllib.parse.urlencode({"query": expression})
        answer = json.loads(self.cluster.fetch(f"http://{settings.PROMETHEUS}/api/v1/query?{words}"))
        assert answer["status"] == "success", answer
        return [series["metric"] for series in answer["data"]["result"]]


@contextlib.contextmanager
def scraping(cluster: Cluster) -> Iterator[Prometheus]:
    """The server with an account of its own that may look at pods and at nothing else."""
    _create_account(cluster)
    token = cluster.folders.configuration / "prometheus.token"
    token.write_bytes(eventually(lambda: _token(cluster)))
    text = yaml.safe_load(CONFIGURATION.read_text())
    for scrape in text["scrape_configs"]:
        scrape |= {"scrape_interval": "1s", "scrape_timeout": "1s"}
        for discovery in scrape["kubernetes_sd_configs"]:  # what a Prometheus outside of the cluster must be told
            discovery |= {
                "api_server": settings.API_SERVER,
                "authorization": {"credentials_file": str(token)},
                "tls_config": {"ca_file": f"{cluster.folders.pki}/apiserver.crt"},
            }
    configuration = cluster.folders.configuration / "prometheus.yaml"
    configuration.write_text(yaml.safe_dump(text))
    command = [
        f"{components.prometheus()}/usr/bin/prometheus",
        f"--config.file={configuration}",
        f"--storage.tsdb.path={cluster.folders.scratch}/prometheus",
        f"--web.listen-address={settings.PROMETHEUS}",
    ]
    with cluster.daemon("prometheus", *command):
        yield Prometheus(cluster=cluster)


def _create_account(cluster: Cluster) -> None:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "prometheus"}
    cluster.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": ACCOUNT},
        {
            "apiVersion": ROLE,
            "kind": "ClusterRole",
            "metadata": {"name": "prometheus"},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}],
        },
        {
            "apiVersion": ROLE,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "prometheus"},
            "roleRef": role,
            "subjects": [{"kind": "ServiceAccount", **ACCOUNT}],
        },
    )


def _token(cluster: Cluster) -> bytes:
    """Kubernetes before 1.24 makes a Secret for each account."""
    account = cluster.get("serviceaccount", ACCOUNT["name"])
    secret = cluster.get("secret", account["secrets"][0]["name"])
    return base64.b64decode(secret["data"]["token"])
