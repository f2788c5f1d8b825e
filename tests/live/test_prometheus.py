"""A real Prometheus scrapes the agent: over TLS, with a password, in OpenMetrics."""

import json
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bcrypt
import pytest
import yaml

from tests.agent.agent_process import PATIENCE, serving
from tests.agent.tree import plant


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def query(port: int, expression: str) -> list[Any]:
    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            result: list[Any] = json.load(answer)["data"]["result"]
            return result
    except OSError:
        return []  # not listening yet


@pytest.mark.real
def test_scraped_over_tls_with_a_password(tmp_path: Path, need_tool: Callable[[str, str], str]) -> None:
    prometheus, openssl = need_tool("prometheus", "prometheus"), need_tool("openssl", "openssl")
    certificate = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(tmp_path / "server.key"), "-out", str(tmp_path / "server.crt")]
    subprocess.run([openssl, *certificate, *names, *files], check=True, capture_output=True)
    hashed = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
    web = tmp_path / "web.yml"
    web.write_text(
        yaml.safe_dump(
            {
                "tls_server_config": {"cert_file": "server.crt", "key_file": "server.key"},
                "basic_auth_users": {"prometheus": hashed},
            }
        )
    )
    root = plant(tmp_path / "root")
    with serving(tmp_path, "--path.rootfs", str(root), "--web.config.file", str(web)) as agent:
        target = {
            "scrape_interval": "1s",
            "scheme": "https",
            "tls_config": {"ca_file": str(tmp_path / "server.crt")},
            "static_configs": [{"targets": [agent.url.removeprefix("https://")]}],
        }
        right = {"job_name": "right", "basic_auth": {"username": "prometheus", "password": "secret"}, **target}
        wrong = {"job_name": "wrong", "basic_auth": {"username": "prometheus", "password": "guess"}, **target}
        config = tmp_path / "prometheus.yml"
        config.write_text(yaml.safe_dump({"scrape_configs": [right, wrong]}))
        port = free_port()
        command = [prometheus, f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'tsdb'}"]
        with (
            (tmp_path / "prometheus.log").open("w") as log,
            subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log) as server,
        ):
            try:
                until = time.monotonic() + PATIENCE
                while not (query(port, 'up{job="right"} == 1') and query(port, 'up{job="wrong"}')):
                    assert time.monotonic() < until, (tmp_path / "prometheus.log").read_text()[-2000:]
                    time.sleep(0.2)
                assert query(port, 'up{job="wrong"} == 1') == []
                (node,) = query(port, 'numa_gpu_affinity_info{job="right"}')
                assert (node["metric"]["numa_node"], node["metric"]["source"]) == ("1", "sysfs")
                assert len(query(port, 'numa_node_info{job="right"}')) == 2
                assert query(port, 'scrape_samples_scraped{job="right"} > 100')
            finally:
                server.kill()
        assert agent.process.poll() is None
