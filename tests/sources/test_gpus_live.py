"""The reader of GPUs on a live host: a tree of files, and NVML through the shim, in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.nvml.build import NvmlShim, record

GPU0 = record("gpu", pci="0000:8d:00.0", uuid="GPU-0", name="NVIDIA H100", minor=0, nodes="1")
GPU1 = record("gpu", pci="0000:8e:00.0", uuid="GPU-1", name="NVIDIA H100", minor=1, mig="on")
MIG = record("mig", gpu=1, uuid="MIG-1", gi=7, ci=0)
HELD = record("process", gpu=0, pid=11, used=1 << 30)
HELD_MIG = record("process", gpu=1, pid=12, gi=7, ci=0)
MACHINE = (GPU0, GPU1, MIG, HELD, HELD_MIG)

PREAMBLE = """
import json, os, threading, time
from pathlib import Path
from numa_exporter.model.sample import HostFacts, Sample
from numa_exporter.sources.gpus import GpusReader
from numa_exporter.sources.live import LiveHost
from numa_exporter.sources.nvml import Nvml
from numa_exporter.sources.roots import Roots
host = LiveHost(Roots(rootfs=ROOT), Nvml(driver_roots=()))
sample = Sample(host=HostFacts(nodename="x", mode="live"), taken_at=0.0, monotonic=0.0)
reader = GpusReader()
def look(reader=reader):
    outcome = reader.read(host, sample)
    failure = outcome.failure and outcome.failure.word
    return [failure, {gpu.uuid: gpu.contexts and [c.pid for c in gpu.contexts] for gpu in outcome.value.gpus}]
def write(*records):
    file = Path(os.environ["NVML_SHIM_FILE"])
    file.with_suffix(".next").write_text("".join(f"{line}\\n" for line in records))
    file.with_suffix(".next").replace(file)
"""
TREE_ONLY = {"00000000:8D:00.0": None, "00000000:8E:00.0": None}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two GPUs behind one bridge."""
    bus = tmp_path / "root" / "sys" / "bus" / "pci" / "devices"
    bus.mkdir(parents=True)
    for address in ("0000:8d:00.0", "0000:8e:00.0"):
        place = tmp_path / "root" / "sys" / "devices" / "pci0000:80" / "0000:80:01.0" / address
        place.mkdir(parents=True)
        for name, text in {"vendor": "0x10de", "class": "0x030200", "numa_node": "1"}.items():
            (place / name).write_text(f"{text}\n")
        (bus / address).symlink_to(f"../../../devices/pci0000:80/0000:80:01.0/{address}")
    return tmp_path / "root"


def run(shim: NvmlShim, root: Path, code: str) -> Any:
    script = PREAMBLE.replace("ROOT)", f"{str(root)!r})") + code + "\nprint(json.dumps(answer))"
    environment = os.environ | shim.environment
    result = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_contexts_of_a_gpu_and_of_a_mig_parent_without_privilege(nvml_shim: NvmlShim, root: Path) -> None:
    lists = [f"nvmlDeviceGet{kind}RunningProcesses_v3" for kind in ("Compute", "Graphics", "MPSCompute")]
    nvml_shim.write(*MACHINE, *(record("error", function=name, gpu=1, code=4) for name in lists))
    assert run(nvml_shim, root, "answer = look()") == [None, {"GPU-0": [11], "GPU-1": [12]}]


def test_a_gpu_lost_between_two_looks_comes_back(nvml_shim: NvmlShim, root: Path) -> None:
    nvml_shim.write(*MACHINE)
    code = f"""
answer = [look()]
write(*{MACHINE!r}, "error;function=*;gpu=0;code=15")
answer += [look(), look()]
write(*{MACHINE!r})
answer += [look()]
"""
    well, lost = [None, {"GPU-0": [11], "GPU-1": [12]}], ["gone", {"GPU-0": None, "GPU-1": [12]}]
    assert run(nvml_shim, root, code) == [well, lost, lost, well]


@pytest.mark.parametrize(("code", "word"), [(18, "gone"), (4, "denied"), (999, "garbled"), (13, None)])
def test_a_driver_that_does_not_let_us_in_leaves_the_tree(
    nvml_shim: NvmlShim, root: Path, code: int, word: str | None
) -> None:
    nvml_shim.write(*MACHINE, record("error", function="nvmlInitWithFlags", code=code))
    assert run(nvml_shim, root, "answer = look()") == [word, TREE_ONLY]


def test_a_hung_call_stops_one_reading_only(nvml_shim: NvmlShim, root: Path) -> None:
    """The agent never asks again while a reading is in flight; somebody who does anyway gets a word and the tree."""
    nvml_shim.write(*MACHINE, record("hang", function="nvmlDeviceGetUUID", gpu=0))
    code = f"""
log = Path(os.environ["NVML_SHIM_LOG"])
log.touch()
late = []
threading.Thread(target=lambda: late.append(look()), name="gpus", daemon=True).start()
while "nvmlDeviceGetUUID" not in log.read_text().split():
    time.sleep(0.005)
answer = [look(GpusReader()), list(late)]
write(*{MACHINE!r})
for thread in threading.enumerate():
    if thread.name == "gpus":
        thread.join()
answer += late
"""
    well = [None, {"GPU-0": [11], "GPU-1": [12]}]
    assert run(nvml_shim, root, code) == [["stuck", TREE_ONLY], [], well]
