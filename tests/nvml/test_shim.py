"""The shim as the real pynvml sees it, each test in a process of its own."""

import ctypes
import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pynvml
import pytest

from tests.nvml.build import NvmlShim, record

DRIVER = record("driver", version="550.90.07", nvml="12.550.90.07", cuda=12040)
GPU0 = record(
    "gpu",
    pci="0000:8d:00.0",
    uuid="GPU-0",
    name="NVIDIA H100 80GB HBM3",
    minor=3,
    memory=80 << 30,
    used=1 << 30,
    nodes="0-1,65",
    cpus="0-3,64",
    width=8,
    max_width=16,
    tx=10**13,
    rx=7,
    c2c=1,
    numa=2,
)
GPU1 = record("gpu", pci="10000:01:00.0", uuid="GPU-1", name="NVIDIA A100", minor=4, mig="on")
MIG = [record("mig", gpu=1, uuid=f"MIG-{gi}", gi=gi, ci=0) for gi in (1, 2)]

ASK = """
import json, sys
from pynvml import *
def attempt(call, *arguments):
    try:
        return call(*arguments)
    except NVMLError as error:
        return type(error).__name__
def holders(handle, kind="Compute"):
    listed = attempt(globals()[f"nvmlDeviceGet{kind}RunningProcesses"], handle)
    return listed if isinstance(listed, str) else [[p.pid, p.usedGpuMemory, p.gpuInstanceId] for p in listed]
def by_index(index):
    return nvmlDeviceGetHandleByIndex(index)
"""


def ask(shim: NvmlShim, code: str, **environment: str) -> Any:
    """Runs `code`, which leaves its answer in `answer`, against the shim through pynvml."""
    script = f"{ASK}\n{code}\nprint(json.dumps(answer))"
    result = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | shim.environment | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_layouts_are_pynvmls() -> None:
    """The same numbers as in nvml_shim.c's static assertions."""
    sizes = {
        pynvml.nvmlPciInfo_t: 68,
        pynvml.c_nvmlProcessInfo_v3_t: 24,
        pynvml.c_nvmlMemory_t: 24,
        pynvml.c_nvmlMemory_v2_t: 40,
        pynvml.c_nvmlFieldValue_t: 40,
        pynvml.c_nvmlC2cModeInfo_v1_t: 4,
    }
    assert {struct: ctypes.sizeof(struct) for struct in sizes} == sizes
    assert pynvml.NVML_FI_DEV_PCIE_COUNT_TX_BYTES == 197
    assert pynvml.NVML_FI_DEV_PCIE_COUNT_RX_BYTES == 198


def test_a_gpu_says_what_its_record_says(nvml_shim: NvmlShim) -> None:
    nvml_shim.write(DRIVER, "# a comment", GPU0, GPU1)
    answer = ask(
        nvml_shim,
        """
nvmlInit()
gpu = by_index(0)
pci = nvmlDeviceGetPciInfo(gpu)
memory = nvmlDeviceGetMemoryInfo(gpu, version=nvmlMemory_v2)
answer = dict(
    driver=nvmlSystemGetDriverVersion(), cuda=nvmlSystemGetCudaDriverVersion_v2(), count=nvmlDeviceGetCount(),
    uuid=nvmlDeviceGetUUID(gpu), name=nvmlDeviceGetName(gpu), minor=nvmlDeviceGetMinorNumber(gpu),
    pci=[pci.domain, pci.bus, pci.device, pci.busId, pci.busIdLegacy],
    memory=[memory.total, memory.used, memory.free, nvmlDeviceGetMemoryInfo(gpu).used],
    nodes=list(nvmlDeviceGetMemoryAffinity(gpu, 2, NVML_AFFINITY_SCOPE_NODE)),
    cpus=list(nvmlDeviceGetCpuAffinity(gpu, 2)),
    width=[nvmlDeviceGetCurrPcieLinkWidth(gpu), nvmlDeviceGetMaxPcieLinkWidth(gpu)],
    numa=nvmlDeviceGetNumaNodeId(gpu), c2c=nvmlDeviceGetC2cModeInfoV(gpu).isC2cEnabled,
    same=[nvmlDeviceGetIndex(nvmlDeviceGetHandleByUUID("GPU-1")),
          nvmlDeviceGetIndex(nvmlDeviceGetHandleByPciBusId("00000000:8D:00.0"))],
)
""",
    )
    assert answer == {
        "driver": "550.90.07",
        "cuda": 12040,
        "count": 2,
        "uuid": "GPU-0",
        "name": "NVIDIA H100 80GB HBM3",
        "minor": 3,
        "pci": [0, 0x8D, 0, "00000000:8D:00.0", "0000:8D:00.0"],
        "memory": [80 << 30, 1 << 30, 79 << 30, 1 << 30],
        "nodes": [0b11, 0b10],
        "cpus": [0b1111, 0b1],
        "width": [8, 16],
        "numa": 2,
        "c2c": 1,
        "same": [1, 0],
    }


def test_what_a_record_leaves_out_is_not_supported(nvml_shim: NvmlShim) -> None:
    nvml_shim.write(record("gpu", pci="0000:01:00.0", uuid="GPU-0"))
    calls = ["nvmlDeviceGetNumaNodeId", "nvmlDeviceGetMigMode", "nvmlDeviceGetCurrPcieLinkWidth"]
    answer = ask(
        nvml_shim,
        f"""
nvmlInit()
gpu = by_index(0)
answer = [attempt(globals()[name], gpu) for name in {calls}]
answer += [attempt(nvmlDeviceGetMemoryAffinity, gpu, 1, 0), attempt(nvmlDeviceGetCpuAffinity, gpu, 1)]
""",
    )
    assert answer == ["NVMLError_NotSupported"] * 5


def test_pcie_counters_are_field_values_that_fail_one_by_one(nvml_shim: NvmlShim) -> None:
    nvml_shim.write(GPU0, GPU1)
    answer = ask(
        nvml_shim,
        """
nvmlInit()
fields = [NVML_FI_DEV_PCIE_COUNT_TX_BYTES, NVML_FI_DEV_PCIE_COUNT_RX_BYTES, NVML_FI_DEV_NVLINK_LINK_COUNT]
answer = [[[v.nvmlReturn, v.value.ullVal] for v in nvmlDeviceGetFieldValues(by_index(i), fields)] for i in (0, 1)]
""",
    )
    unsupported = [pynvml.NVML_ERROR_NOT_SUPPORTED, 0]
    assert answer == [[[0, 10**13], [0, 7], unsupported], [unsupported] * 3]


def test_process_lists(nvml_shim: NvmlShim) -> None:
    nvml_shim.write(
        GPU0,
        *(record("process", gpu=0, pid=pid, used=pid << 20) for pid in range(1, 40)),
        record("process", gpu=0, pid=50),
        record("process", gpu=0, pid=60, used=5, list="graphics"),
        record("process", gpu=0, pid=70, used=6, list="mps"),
    )
    answer = ask(
        nvml_shim,
        "nvmlInit()\nanswer = [holders(by_index(0), kind) for kind in ('Compute', 'Graphics', 'MPSCompute')]",
    )
    none = 0xFFFFFFFF
    compute = [[pid, pid << 20, none] for pid in range(1, 40)] + [[50, None, none]]
    assert answer == [compute, [[60, 5, none]], [[70, 6, none]]]


def test_mig_devices(nvml_shim: NvmlShim) -> None:
    nvml_shim.write(
        GPU0,
        GPU1,
        *MIG,
        record("process", gpu=1, pid=11, gi=1, ci=0),
        record("process", gpu=1, pid=22, used=9, gi=2, ci=0),
        record("error", function="nvmlDeviceGetComputeRunningProcesses_v3", gpu=1, code=4),
    )
    answer = ask(
        nvml_shim,
        """
nvmlInit()
parent = by_index(1)
migs = [nvmlDeviceGetMigDeviceHandleByIndex(parent, i) for i in (0, 1)]
answer = dict(
    modes=[attempt(nvmlDeviceGetMigMode, by_index(0)), nvmlDeviceGetMigMode(parent)],
    most=nvmlDeviceGetMaxMigDeviceCount(parent), third=attempt(nvmlDeviceGetMigDeviceHandleByIndex, parent, 2),
    uuids=[nvmlDeviceGetUUID(m) for m in migs],
    parents=[nvmlDeviceGetIndex(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(m)) for m in migs],
    instances=[[nvmlDeviceGetGpuInstanceId(m), nvmlDeviceGetComputeInstanceId(m)] for m in migs],
    found=nvmlDeviceGetUUID(nvmlDeviceGetHandleByUUID("MIG-2")),
    holders=[holders(parent)] + [holders(m) for m in migs],
)
""",
    )
    assert answer == {
        "modes": ["NVMLError_NotSupported", [1, 1]],
        "most": 7,
        "third": "NVMLError_NotFound",
        "uuids": ["MIG-1", "MIG-2"],
        "parents": [1, 1],
        "instances": [[1, 0], [2, 0]],
        "found": "MIG-2",
        "holders": ["NVMLError_NoPermission", [[11, None, 1]], [[22, 9, 2]]],
    }


@pytest.mark.parametrize(
    ("records", "error"),
    [
        ([record("error", function="nvmlInitWithFlags", code=18)], "NVMLError_LibRmVersionMismatch"),
        ([record("error", function="*", code=13)], "NVMLError_FunctionNotFound"),
        (None, "NVMLError_DriverNotLoaded"),
    ],
)
def test_init_fails(nvml_shim: NvmlShim, records: list[str] | None, error: str) -> None:
    if records is not None:
        nvml_shim.write(GPU0, *records)
    assert ask(nvml_shim, "answer = attempt(nvmlInit)") == error


def test_no_library_at_all(nvml_shim: NvmlShim, tmp_path: Path) -> None:
    answer = ask(nvml_shim, "answer = attempt(nvmlInit)", LD_LIBRARY_PATH=str(tmp_path))
    assert answer == "NVMLError_LibraryNotFound"


def test_an_old_driver_lacks_functions(nvml_shim: NvmlShim, nvml_library: Callable[..., Path]) -> None:
    old = dataclasses.replace(nvml_shim, library=nvml_library("nvmlDeviceGetMemoryAffinity"))
    old.write(GPU0)
    code = """
nvmlInit()
answer = [attempt(nvmlDeviceGetMemoryAffinity, by_index(0), 1, 0), nvmlDeviceGetUUID(by_index(0))]
"""
    assert ask(old, code) == ["NVMLError_FunctionNotFound", "GPU-0"]


def test_a_full_path_loaded_first_satisfies_pynvml(nvml_shim: NvmlShim, tmp_path: Path) -> None:
    nvml_shim.write(GPU0)
    code = f"""
import ctypes
ctypes.CDLL({str(nvml_shim.library)!r})
nvmlInit()
answer = nvmlDeviceGetCount()
"""
    assert ask(nvml_shim, code, LD_LIBRARY_PATH=str(tmp_path)) == 1


def test_a_gpu_lost_between_two_calls(nvml_shim: NvmlShim) -> None:
    nvml_shim.write(GPU0, GPU1, record("error", function="*", gpu=0, code=15, after=4))
    code = """
nvmlInit()
lost, well = by_index(0), by_index(1)
answer = [attempt(nvmlDeviceGetUUID, lost), attempt(nvmlDeviceGetUUID, well), attempt(by_index, 0), holders(lost)]
"""
    assert ask(nvml_shim, code) == ["NVMLError_GpuIsLost", "GPU-1", "NVMLError_GpuIsLost", "NVMLError_GpuIsLost"]


def test_the_file_is_read_again_and_calls_need_init(nvml_shim: NvmlShim) -> None:
    nvml_shim.write(GPU0)
    code = f"""
from pathlib import Path
nvmlInit()
gpu = by_index(0)
before = holders(gpu)
Path({str(nvml_shim.file)!r}).write_text({GPU0!r} + "\\nprocess;gpu=0;pid=5;used=1\\n")
answer = [before, [h[0] for h in holders(gpu)]]
nvmlShutdown()
answer.append(attempt(nvmlDeviceGetUUID, gpu))
"""
    assert ask(nvml_shim, code) == [[], [5], "NVMLError_Uninitialized"]
    assert nvml_shim.calls()[:2] == ["nvmlInitWithFlags", "nvmlDeviceGetHandleByIndex_v2"]
    assert "nvmlShutdown" in nvml_shim.calls()


def test_a_call_hangs_until_the_file_lets_it_go(nvml_shim: NvmlShim) -> None:
    """The other thread's calls go on meanwhile; the stuck one returns only after the file was replaced."""
    nvml_shim.write(GPU0, GPU1, record("hang", function="nvmlDeviceGetUUID", gpu=0))
    code = f"""
import os, threading, time
from pathlib import Path
nvmlInit()
handles, done = [by_index(0), by_index(1)], []
stuck = threading.Thread(target=lambda: done.append(nvmlDeviceGetUUID(handles[0])), daemon=True)
stuck.start()
log = Path(os.environ["NVML_SHIM_LOG"])
while "nvmlDeviceGetUUID" not in log.read_text():
    time.sleep(0.01)
answer = [nvmlDeviceGetUUID(handles[1]), stuck.is_alive(), list(done)]
whole = Path({str(nvml_shim.file)!r})
whole.with_suffix(".new").write_text({GPU0!r} + "\\n")
whole.with_suffix(".new").replace(whole)  # half a file would be another answer
stuck.join()
answer.append(done)
"""
    assert ask(nvml_shim, code) == ["GPU-1", True, [], ["GPU-0"]]
