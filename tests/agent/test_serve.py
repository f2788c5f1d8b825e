"""The agent as a process under attack: what hangs, what is garbled, who asks, how it ends."""

import gzip
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics_families

from tests.agent.agent_process import COMMAND, NOBODY, serving
from tests.agent.tree import GPU, NODE1_MEMINFO, make_hang, plant
from tests.conftest import REPOSITORY
from tests.nvml.build import NvmlShim, record

pytestmark = pytest.mark.real  # servers, and a library that gcc makes

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def workload() -> Iterator[subprocess.Popen[str]]:
    """A process of nobody's special interest, for NVML to name."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def one_gpu(pid: int) -> list[str]:
    return [
        record("driver", version="550.90.07"),
        record("gpu", pci="0000:41:00.0", uuid="GPU-0", name="NVIDIA L40S", minor=0),
        record("process", gpu=0, pid=pid, used=20 << 30),
    ]


HANG = record("hang", function="nvmlDeviceGetComputeRunningProcesses_v3")


def test_a_hung_nvml_stops_nothing_but_itself(
    tmp_path: Path, nvml_shim: NvmlShim, workload: "subprocess.Popen[str]"
) -> None:
    nvml_shim.write(*one_gpu(workload.pid))
    with serving(tmp_path, environment=nvml_shim.environment) as agent:
        agent.wait_until(lambda: agent.value("numa_gpu_workload_info", role="main"), "who holds the GPU")
        nvml_shim.write(*one_gpu(workload.pid), HANG)
        agent.wait_until(lambda: agent.up("gpus") == 0, "the failure")
        assert agent.value("numa_exporter_source_failures_total", source="gpus", failure="stuck") == 1
        assert (agent.up("topology"), agent.up("processes"), agent.up("threads")) == (1, 1, 1)
        assert agent.value("numa_node_info", numa_node="0") == 1

        def too_old() -> bool:
            read = agent.value("numa_exporter_source_read_timestamp_seconds", source="gpus") or 0.0
            return (agent.value("numa_exporter_last_tick_timestamp_seconds") or 0.0) - read > 14

        agent.wait_until(too_old, "the last reading of NVML to be dropped")
        assert agent.value("numa_gpu_workload_info", uuid="GPU-0", role="main") == 1, "who held it then holds it still"
        assert agent.get("/-/healthy").status == 200

        nvml_shim.write(*one_gpu(workload.pid))
        agent.wait_until(lambda: agent.up("gpus") == 1, "the recovery")
        assert agent.log().count('msg="source failed" source=gpus failure=stuck') == 1
        assert agent.log().count('msg="source answers" source=gpus') == 1
        assert agent.stop() == 0


def test_it_ends_at_once_while_nvml_hangs(tmp_path: Path, nvml_shim: NvmlShim) -> None:
    nvml_shim.write(*one_gpu(1), HANG)
    with serving(tmp_path, environment=nvml_shim.environment) as agent:
        agent.wait_until(lambda: "nvmlDeviceGetComputeRunningProcesses_v3" in nvml_shim.calls(), "the call that hangs")
        assert agent.up("gpus") is None, "nothing is known of it yet"
        assert agent.up("topology") == 1
        assert agent.stop() == 0
        assert "msg=stopped" in agent.log()
    assert "nvmlShutdown" not in nvml_shim.calls(), "it would hang beside the call that hangs"


def test_a_hung_file_stops_its_source_alone(tmp_path: Path) -> None:
    root = plant(tmp_path / "root")
    with serving(tmp_path, "--path.rootfs", str(root)) as agent:
        agent.wait_until(lambda: agent.value("numa_gpu_affinity_known") == 1, "the GPU")
        make_hang(root, f"{GPU}/vendor")
        agent.wait_until(lambda: agent.up("gpus") == 0, "the failure")
        assert agent.value("numa_exporter_source_failures_total", source="gpus", failure="stuck") == 1
        assert agent.up("topology") == 1
        assert agent.value("numa_node_info", numa_node="1", socket="1") == 1
        assert agent.value("numa_exporter_host_info", mode="replay", kernel="6.12.0-test") == 1
        assert agent.get("/-/healthy").status == 200
        assert agent.stop() == 0


def test_a_file_that_hangs_from_the_start_leaves_the_agent_answering(tmp_path: Path) -> None:
    root = plant(tmp_path / "root")
    make_hang(root, NODE1_MEMINFO)
    with serving(tmp_path, "--path.rootfs", str(root)) as agent:
        agent.wait_until(lambda: agent.up("topology") == 0, "the failure")
        assert agent.up("gpus") == 1
        assert agent.value("numa_node_info", numa_node="0") is None
        assert json.loads(agent.get("/api/v1/report").body)["machine"] is None
        assert agent.get("/").status == 200
        assert agent.get("/-/healthy").status == 200
        assert agent.stop() == 0


def test_a_garbled_file_is_said_with_its_line_and_costs_only_its_own_part(tmp_path: Path) -> None:
    root = plant(tmp_path / "root", {NODE1_MEMINFO: "Node 1 MemTotal: lots kB\n"})
    with serving(tmp_path, "--path.rootfs", str(root)) as agent:
        agent.wait_until(lambda: agent.up("topology") == 0, "the failure")
        assert (agent.value("numa_exporter_source_failures_total", source="topology", failure="garbled") or 0) >= 1
        assert agent.value("numa_node_memory_bytes", numa_node="0") == 1 << 20
        assert agent.value("numa_node_memory_bytes", numa_node="1") is None
        assert agent.value("numa_gpu_affinity_info", numa_node="1", source="sysfs") == 1
        agent.after(3)
        failed = [line for line in agent.log().splitlines() if "source=topology" in line]
        assert len(failed) == 1 and f"path={NODE1_MEMINFO}" in failed[0] and ":1:" in failed[0]


def test_sigusr1_gives_up_the_gpus(tmp_path: Path, nvml_shim: NvmlShim) -> None:
    nvml_shim.write(*one_gpu(1))
    with serving(tmp_path, environment=nvml_shim.environment) as agent:
        agent.wait_until(lambda: agent.up("gpus") == 1, "NVML")
        agent.process.send_signal(signal.SIGUSR1)
        agent.wait_until(lambda: "nvmlShutdown" in nvml_shim.calls(), "the release")
        agent.wait_until(lambda: agent.up("gpus") == 0, "the failure")
        before = nvml_shim.calls()
        agent.after(3)
        assert nvml_shim.calls() == before, "released is left alone"
        assert "released on request" in agent.log()
        assert agent.stop() == 0


def test_idle_connections_do_not_take_the_descriptors_of_the_sources(tmp_path: Path) -> None:
    root = plant(tmp_path / "root")
    few = ["sh", "-c", 'ulimit -S -n 64; exec "$@"', "sh", *COMMAND]
    with serving(tmp_path, "--path.rootfs", str(root), command=few) as agent, ExitStack() as idle:
        port = urlsplit(agent.url).port
        for _ in range(100):
            idle.enter_context(socket.create_connection(("127.0.0.1", port)))
        agent.after(3)
        assert agent.up("topology") == 1
        assert agent.value("numa_exporter_source_failures_total", source="topology", failure="garbled") is None


def test_what_scrapers_may_ask(tmp_path: Path) -> None:
    root = plant(tmp_path / "root")
    with serving(tmp_path, "--path.rootfs", str(root)) as agent:
        plain = agent.get("/metrics")
        assert plain.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert "Content-Encoding" not in plain.headers
        packed = agent.get("/metrics", Accept_Encoding="gzip")
        assert packed.headers["Content-Encoding"] == "gzip"
        assert b"# HELP numa_node_info " in gzip.decompress(packed.body)
        head = agent.get("/metrics", method="HEAD")
        assert (head.status, head.body) == (200, b"") and int(head.headers["Content-Length"]) > 0

        wanted = "application/openmetrics-text;version=1.0.0;q=0.9,text/plain;q=0.5"

        def opened() -> bool:
            return agent.get("/metrics", Accept=wanted).headers["Content-Type"].startswith("application/openmetrics")

        agent.wait_until(opened, "OpenMetrics, from the tick after the first request on")
        body = agent.get("/metrics", Accept=wanted).body.decode()
        assert {family.name for family in open_metrics_families(body)} >= {"numa_node_info", "numa_cpu_seconds"}
        liked_less = agent.get("/metrics", Accept="application/openmetrics-text;q=0.1, text/plain")
        assert liked_less.headers["Content-Type"].startswith("text/plain")

        page = agent.get("/")
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
        assert agent.get("/-/ready").body == b"ready\n"
        assert agent.get("/metrics", method="POST").status == 405
        assert agent.get("/nothing").status == 404
        assert agent.stop(signal.SIGINT) == 0


def test_a_bundle_is_served_as_a_replay(tmp_path: Path) -> None:
    root = plant(tmp_path / "root")
    bundle = str(tmp_path / "bundle.tar.gz")
    take = ["snapshot", "-o", bundle, "--window", "100ms", "--path.rootfs", str(root)]
    subprocess.run([*COMMAND, *take], cwd=REPOSITORY, check=True, capture_output=True)
    with serving(tmp_path, "--replay", bundle) as agent:
        assert agent.process.stdout is not None
        seen = agent.process.stdout.readline()
        assert seen == "2 NUMA nodes, 2 sockets, 4 CPUs, 1 GPU, 0 workloads on them, 0 warnings.\n"
        agent.after(3)
        assert agent.value("numa_exporter_host_info", mode="replay") == 1
        agent.process.send_signal(signal.SIGUSR1)  # there is no GPU to give up, and no reason to die of it
        agent.wait_until(lambda: "no GPU handles are held" in agent.log(), "the answer to SIGUSR1")
        assert agent.value("numa_gpu_affinity_info", numa_node="1", source="sysfs") == 1
        assert b"Replay: read from a bundle of captured" in agent.get("/").body
        assert agent.stop() == 0


def test_without_a_page_within_a_limit_in_json(tmp_path: Path) -> None:
    root = plant(tmp_path / "root")
    flags = ["--no-web.page", "--max-series", "20", "--log.format", "json", "--no-source.traffic"]
    with serving(tmp_path, "--path.rootfs", str(root), *flags) as agent:
        agent.after(1)
        answer = agent.get("/")
        assert answer.status == 404 and b"--no-web.page" in answer.body
        assert agent.value("numa_exporter_series_dropped_total", metric="numa_path_info") is not None
        assert agent.up("topology") == 1
        assert agent.value("numa_exporter_source_interval_seconds", source="traffic") is None
        assert agent.stop() == 0
        lines = [json.loads(line) for line in agent.log().splitlines()]
        assert (lines[0]["msg"], lines[-1]["msg"]) == ("listening", "stopped")


@needs_root
def test_an_ordinary_user_sees_all_that_needs_no_capability(
    tmp_path: Path, nvml_shim: NvmlShim, workload: "subprocess.Popen[str]"
) -> None:
    nvml_shim.write(*one_gpu(workload.pid))
    nvml_shim.open_to_all()
    with serving(tmp_path, environment=nvml_shim.environment, command=NOBODY) as agent:
        agent.wait_until(lambda: agent.up("memory") == 0, "the failure")
        assert [agent.up(name) for name in ("topology", "gpus", "processes", "cgroups", "threads")] == [1] * 5
        assert agent.value("numa_gpu_workload_info", role="main", evidence="nvml") == 1
        assert agent.value("numa_rank_allowed_cpus", uuid="GPU-0", locality="local") == len(
            os.sched_getaffinity(workload.pid)
        )
        agent.after(4)
        denied = [line for line in agent.log().splitlines() if "failure=denied" in line]
        assert len(denied) == 1 and "source=memory" in denied[0] and "CAP_SYS_PTRACE" in denied[0]
        assert (agent.value("numa_exporter_source_failures_total", source="memory", failure="denied") or 0) >= 1
        assert agent.value("numa_rank_memory_method_info", uuid="GPU-0") is None
        assert agent.stop() == 0
