"""From this kernel's files to gauges: a real process in a real container, named by NVML, against tools not of ours.

What the single sources read of it is held against the same tools in tests/sources/test_live_processes.py; here it has
gone through join, verdicts, document and exposition, through `report` and through a running agent's scrape.
"""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from numa_exporter.sources.memory import YOUNGEST
from tests.agent.agent_process import COMMAND, serving
from tests.conftest import REPOSITORY
from tests.nvml.build import NvmlShim, record
from tests.sources import victim
from tests.sources.test_live_processes import MIB, Container, Victim

NeedTool = Callable[[str, str], str]

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(
        not os.access("/sys/fs/cgroup/memory/tasks", os.W_OK),
        reason="needs a writable cgroup v1 (v2 is tried in the lab's virtual machines)",
    ),
]


@dataclass(frozen=True, slots=True)
class Scene:
    """An engine alone in a container, whose two bound threads NVML's GPU-0 belongs to; ``file`` is mapped too."""

    engine: Victim
    threads: list[int]
    container: Container
    shim: NvmlShim
    cpu: int

    @property
    def unit(self) -> str:
        return f"docker/{self.container.id[:12]}"

    def report(self, *flags: str) -> Any:
        """What `report --json` says."""
        done = subprocess.run(
            [*COMMAND, "report", "--json", "--window", "1s", *flags],
            cwd=REPOSITORY,
            env={**os.environ, **self.shim.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stderr == "", done.stderr
        return {"status": done.returncode, **json.loads(done.stdout)}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, nvml_library: Callable[..., Path]) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("scene")
    weights = folder / "weights"
    weights.write_bytes(bytes(4 * MIB))
    container = Container()
    try:
        engine = Victim(str(weights), cgroups=container.folders.values())
        try:
            cpu = min(os.sched_getaffinity(0))
            shim = NvmlShim(library=nvml_library(), file=folder / "nvml.txt", log=folder / "nvml.log")
            shim.write(
                record("driver", version="550.90.07"),
                record("gpu", pci="0000:41:00.0", uuid="GPU-0", name="NVIDIA L40S", minor=0),
                record("process", gpu=0, pid=engine.pid, used=20 << 30),
            )
            time.sleep(YOUNGEST + 1)
            yield Scene(engine, engine.tell(f"threads {cpu} {cpu}"), container, shim, cpu)
        finally:
            engine.end()
    finally:
        container.remove()


@pytest.fixture(scope="module")
def found(scene: Scene) -> Any:
    return scene.report()


@pytest.fixture
def rank(scene: Scene, found: Any) -> Any:
    (workload,) = found["workloads"]
    assert workload["unit"] == scene.unit
    (rank,) = workload["ranks"]
    return rank


def test_the_machine_is_lscpus(found: Any, need_tool: NeedTool) -> None:
    lscpu = need_tool("lscpu", "util-linux")
    told = json.loads(
        subprocess.run([lscpu, "-J", "-e=CPU,NODE,SOCKET,ONLINE"], capture_output=True, check=True).stdout
    )
    for node in found["machine"]["nodes"]:
        own = {row["cpu"] for row in told["cpus"] if row["node"] == node["id"]}
        assert own == _cpus(node["cpus"])
        assert {row["socket"] for row in told["cpus"] if row["cpu"] in own} == {node["socket"]}


def test_node_memory_is_numactls(scene: Scene, need_tool: NeedTool) -> None:
    numactl = need_tool("numactl", "numactl")

    def sizes() -> dict[int, int]:
        told = subprocess.run([numactl, "-H"], capture_output=True, text=True, check=True).stdout
        return {int(node): int(size) for node, size in re.findall(r"node (\d+) size: (\d+) MB", told)}

    before, found, after = sizes(), scene.report("--looks", "1"), sizes()
    for node in found["machine"]["nodes"]:
        # A guest's memory may grow and shrink meanwhile.
        low, *_, high = sorted((before[node["id"]], after[node["id"]]))
        assert low <= node["memory_bytes"] // MIB <= high


def _cpus(text: str) -> set[int]:
    parts = [part.split("-") for part in text.split(",")]
    return {cpu for first, *last in parts for cpu in range(int(first), int((last or [first])[0]) + 1)}


def test_the_gpu_and_who_holds_it_are_nvmls(scene: Scene, found: Any, rank: Any) -> None:
    (gpu,) = found["gpus"]
    assert (gpu["uuid"], gpu["model"], gpu["pci_bus_id"]) == ("GPU-0", "NVIDIA L40S", "00000000:41:00.0")
    assert (gpu["affinity"], gpu["affinity_source"]) == ([0], "only_node")
    (process,) = rank["processes"]
    assert (process["pid"], process["evidence"], process["main"]) == (scene.engine.pid, "nvml", ["GPU-0"])
    assert process["used_bytes"] == {"GPU-0": 20 << 30}
    assert found["attribution"] == {"attributed": 1, "unattributed": 0, "denied": 0, "observer": 0}


def test_mapped_bytes_are_numastats(scene: Scene, rank: Any, need_tool: NeedTool) -> None:
    command = [need_tool("numastat", "numactl"), "-p", str(scene.engine.pid)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    last_line = re.search(r"^Total .*$", answer, re.MULTILINE)
    assert last_line is not None
    sums = {backing: sum(nodes.values()) for backing, nodes in rank["mapped"].items()}
    assert sum(sums.values()) / MIB == pytest.approx(float(last_line[0].split()[-1]), abs=0.2)
    assert sum(sums.values()) == pytest.approx(psutil.Process(scene.engine.pid).memory_info().rss, abs=MIB)
    assert (sums["shmem_anon"], sums["shmem"]) == (victim.SHARED, victim.NAMED)
    assert sums["file"] >= 4 * MIB
    assert victim.ANON + victim.HUGE <= sums["anon"] < victim.ANON + victim.HUGE + 64 * MIB
    assert (rank["mapped_method"], rank["mapped_error_ratio"], rank["policy"]) == ("walk", 0.0, "default")


def test_masks_are_tasksets(scene: Scene, rank: Any, need_tool: NeedTool) -> None:
    taskset = need_tool("taskset", "util-linux")
    allowed: set[int] = set()
    for tid in (scene.engine.pid, *scene.threads):
        answer = subprocess.run([taskset, "-cp", str(tid)], capture_output=True, text=True, check=True).stdout
        allowed |= _cpus(answer.rpartition(":")[2].strip())
    assert rank["allowed_cpus"] == {"local": len(allowed), "remote": 0} == {"local": 1, "remote": 0}


def test_the_container_is_its_cgroups(scene: Scene, found: Any) -> None:
    (workload,) = found["workloads"]
    folders = scene.container.folders
    assert workload["cpuset_cpus"] == (folders["cpuset"] / "cpuset.effective_cpus").read_text().strip()
    assert workload["cpuset_mems"] == (folders["cpuset"] / "cpuset.effective_mems").read_text().strip()
    stat = dict(line.split() for line in (folders["memory"] / "memory.stat").read_text().splitlines())
    charged = workload["charged"]["anon_and_shmem"]["0"]
    assert charged == pytest.approx(int(stat["inactive_anon"]) + int(stat["active_anon"]), abs=4 * MIB)
    assert (workload["runtime"], workload["container_id"]) == ("docker", scene.container.id)


def test_one_node_is_never_against_the_grain(found: Any, rank: Any) -> None:
    assert found["status"] == 0
    assert rank["misaligned"] == {"cpu_time": False, "memory": False, "host_buffers": False}
    assert [finding["code"] for finding in found["findings"] if finding["level"] == "warning"] == []
    assert "single_node" in [finding["code"] for finding in found["findings"]]


def test_one_process_alone(scene: Scene) -> None:
    assert [work["unit"] for work in scene.report("--pid", str(scene.engine.pid))["workloads"]] == [scene.unit]


def test_a_running_agent_scraped(scene: Scene, tmp_path: Path, need_tool: NeedTool) -> None:
    promtool = need_tool("promtool", "prometheus")
    labels = {"unit": scene.unit, "uuid": "GPU-0"}
    with serving(tmp_path, environment=scene.shim.environment) as agent:

        def used() -> float:
            return agent.value("numa_rank_cpu_seconds_total", **labels, numa_node="0", locality="local") or 0.0

        agent.wait_until(lambda: agent.value("numa_rank_memory_method_info", **labels, method="walk"), "pages")
        before, oracle = used(), psutil.Process(scene.engine.pid).cpu_times()
        scene.engine.tell("burn 0.5")
        after = psutil.Process(scene.engine.pid).cpu_times()
        agent.after(3)
        spent = after.user + after.system - oracle.user - oracle.system
        assert spent >= 0.9, "two threads burnt half a second each"
        assert used() - before == pytest.approx(spent, abs=0.1)

        page = agent.get("/metrics").body
        done = subprocess.run([promtool, "check", "metrics"], input=page, capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert agent.value("numa_rank_mapped_bytes", **labels, backing="shmem", numa_node="0") == victim.NAMED
        assert agent.value("numa_rank_misaligned", **labels, dimension="memory") == 0
        assert agent.value("numa_gpu_holding_bytes", uuid="GPU-0") == 20 << 30
        assert agent.value("numa_workload_cpuset_cpus", unit=scene.unit, locality="local") == 1
        assert agent.value("numa_exporter_host_info", mode="live", cgroup="hybrid") == 1
        assert (agent.value("numa_exporter_lock_hold_seconds_total") or 0) > 0
        own = psutil.Process(agent.process.pid)
        assert agent.value("process_resident_memory_bytes") == pytest.approx(own.memory_info().rss, rel=0.2)
        told = json.loads(agent.get("/api/v1/report").body)
        assert [work["unit"] for work in told["workloads"]] == [scene.unit]
        assert agent.stop() == 0
