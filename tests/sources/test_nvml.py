"""Nvml against the shim: real pynvml, real ctypes, each test in a process of its own."""

import ctypes.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.nvml.build import NvmlShim, record

without_a_driver = pytest.mark.skipif(
    ctypes.util.find_library("nvidia-ml") is not None, reason="this machine has an NVML of its own"
)

DRIVER = record("driver", version="550.90.07")
GPU0 = record("gpu", pci="0000:8d:00.0", uuid="GPU-0", name="NVIDIA H100", minor=3, nodes="1,65", width=8, tx=5, rx=7)
GPU1 = record("gpu", pci="10000:01:00.0", uuid="GPU-1", name="NVIDIA A100", minor=4, mig="on", c2c=1)
MIGS = [record("mig", gpu=1, uuid=f"MIG-{gi}", gi=gi, ci=0) for gi in (1, 2)]

PREAMBLE = """
import json, os, threading, time
from pathlib import Path
from numa_exporter.sources.host import HostError
from numa_exporter.sources.nvml import Nvml
Path(os.environ["NVML_SHIM_LOG"]).touch()
now = 0.0
nvml = Nvml(driver_roots=ROOTS, clock=lambda: now)
def ask(function, *arguments):
    try:
        return nvml.ask(function, *arguments)
    except HostError as error:
        return error.word
def write(*records):
    file = Path(os.environ["NVML_SHIM_FILE"])
    file.with_suffix(".next").write_text("".join(f"{line}\\n" for line in records))
    file.with_suffix(".next").replace(file)
def released():
    for thread in threading.enumerate():
        if thread.name == "nvml-release":
            thread.join()
def until_called(function):
    while function not in Path(os.environ["NVML_SHIM_LOG"]).read_text().split():
        time.sleep(0.005)
"""


def run(shim: NvmlShim, code: str, roots: tuple[str, ...] = (), **environment: str) -> Any:
    """Runs ``code``, which leaves its answer in ``answer``, against the shim."""
    script = PREAMBLE.replace("ROOTS", repr(roots)) + code + "\nprint(json.dumps(answer))"
    result = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | shim.environment | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_every_question_has_its_answer(nvml_shim: NvmlShim) -> None:
    nvml_shim.write(DRIVER, GPU0, GPU1, *MIGS)
    answer = run(
        nvml_shim,
        """
device = ["UUID", "Name", "MinorNumber", "PciInfo", "MemoryAffinity", "CurrPcieLinkWidth", "MaxPcieLinkWidth",
          "FieldValues", "C2cModeInfoV", "MigMode", "MaxMigDeviceCount"]
answer = {
    "system": [ask("DeviceGetCount"), ask("SystemGetDriverVersion"), ask("DeviceGetNumaNodeId", 0)],
    "gpus": [{name: ask(f"DeviceGet{name}", index) for name in device} for index in (0, 1)],
    "migs": [[ask(f"DeviceGet{name}", 1, mig) for name in ("UUID", "GpuInstanceId", "ComputeInstanceId")]
             for mig in (0, 1, 2)],
    "beyond": ask("DeviceGetUUID", 2),
}
""",
    )
    assert answer["system"] == [2, "550.90.07", "absent"]
    assert answer["gpus"][0] == {
        "UUID": "GPU-0",
        "Name": "NVIDIA H100",
        "MinorNumber": 3,
        "PciInfo": {"domain": 0, "bus": 0x8D, "device": 0},
        "MemoryAffinity": [2, 2] + [0] * 14,
        "CurrPcieLinkWidth": 8,
        "MaxPcieLinkWidth": "absent",
        "FieldValues": {"tx": 5, "rx": 7},
        "C2cModeInfoV": "absent",
        "MigMode": "absent",
        "MaxMigDeviceCount": 0,
    }
    assert answer["gpus"][1]["C2cModeInfoV"] is True
    assert answer["gpus"][1]["MigMode"] is True
    assert answer["gpus"][1]["PciInfo"] == {"domain": 0x10000, "bus": 1, "device": 0}
    assert answer["gpus"][1]["FieldValues"] == {"tx": None, "rx": None}
    assert answer["migs"] == [["MIG-1", 1, 0], ["MIG-2", 2, 0], ["absent"] * 3]
    assert answer["beyond"] == "absent"


def test_process_lists_and_their_unknowns(nvml_shim: NvmlShim) -> None:
    nvml_shim.write(
        GPU0,
        GPU1,
        *MIGS,
        record("process", gpu=0, pid=11, used=1 << 30),
        record("process", gpu=0, pid=12, used=5, list="graphics"),
        record("process", gpu=0, pid=13, used=6, list="mps"),
        record("process", gpu=1, pid=14, gi=2, ci=0),
        record("error", function="nvmlDeviceGetComputeRunningProcesses_v3", gpu=1, code=4),
    )
    code = """
lists = [f"DeviceGet{kind}RunningProcesses" for kind in ("Compute", "Graphics", "MPSCompute")]
answer = [[ask(name, 0) for name in lists], ask(lists[0], 1), ask(lists[0], 1, 0), ask(lists[0], 1, 1)]
"""
    whole = [[[11, 1 << 30, None]], [[12, 5, None]], [[13, 6, None]]]
    assert run(nvml_shim, code) == [whole, "denied", [], [[14, None, 2]]]


def test_a_driver_too_old_for_the_newest_lists(nvml_shim: NvmlShim, nvml_library: Callable[..., Path]) -> None:
    lists = [f"nvmlDeviceGet{kind}RunningProcesses" for kind in ("Compute", "Graphics", "MPSCompute")]
    without = [f"{name}_v3" for name in lists] + [f"{lists[2]}_v2", "nvmlDeviceGetMemoryAffinity"]
    old = NvmlShim(library=nvml_library(*without), file=nvml_shim.file, log=nvml_shim.log)
    old.write(GPU0, record("process", gpu=0, pid=11, used=9))
    code = """
answer = [ask(name, 0) for name in ("DeviceGetComputeRunningProcesses", "DeviceGetMPSComputeRunningProcesses",
                                    "DeviceGetMemoryAffinity", "DeviceGetUUID")]
"""
    assert run(old, code) == [[[11, 9, None]], "absent", "absent", "GPU-0"]


@pytest.mark.parametrize(
    ("records", "word"),
    [
        (None, "absent"),  # a library without a driver below it
        ([record("error", function="nvmlInitWithFlags", code=4)], "denied"),
        ([record("error", function="nvmlInitWithFlags", code=18)], "gone"),
        ([record("error", function="nvmlDeviceGetCount_v2", code=999)], "garbled"),
        ([record("error", function="*", code=13)], "absent"),
    ],
)
def test_the_words_of_a_driver_that_does_not_answer(nvml_shim: NvmlShim, records: list[str] | None, word: str) -> None:
    if records is not None:
        nvml_shim.write(GPU0, *records)
    assert run(nvml_shim, "answer = ask('DeviceGetCount')") == word


@without_a_driver
def test_without_a_library_pynvml_is_not_even_imported(nvml_shim: NvmlShim, tmp_path: Path) -> None:
    code = "import sys\nanswer = [ask('DeviceGetCount'), 'pynvml' in sys.modules]"
    assert run(nvml_shim, code, LD_LIBRARY_PATH=str(tmp_path)) == ["absent", False]


@without_a_driver
def test_a_library_below_a_driver_root(nvml_shim: NvmlShim, tmp_path: Path) -> None:
    nvml_shim.write(GPU0)
    folder = tmp_path / "driver" / "usr" / "lib64"
    folder.mkdir(parents=True)
    (folder / nvml_shim.library.name).symlink_to(nvml_shim.library)
    code = "answer = ask('DeviceGetCount')"
    empty = str(tmp_path)
    assert run(nvml_shim, code, roots=(f"{tmp_path}/driver",), LD_LIBRARY_PATH=empty) == 1


def test_a_lost_gpu_fails_alone_and_the_next_look_opens_anew(nvml_shim: NvmlShim) -> None:
    nvml_shim.write(GPU0, GPU1)
    code = f"""
first = [ask("DeviceGetCount"), ask("DeviceGetUUID", 0)]
write({GPU0!r}, {GPU1!r}, "error;function=*;gpu=0;code=15")
lost = [ask("DeviceGetCount"), ask("DeviceGetUUID", 0), ask("DeviceGetUUID", 1)]
write({GPU0!r}, {GPU1!r})
answer = [first, lost, [ask("DeviceGetCount"), ask("DeviceGetUUID", 0)]]
"""
    assert run(nvml_shim, code) == [[2, "GPU-0"], [2, "gone", "GPU-1"], [2, "GPU-0"]]
    calls = [call for call in nvml_shim.calls() if call in ("nvmlInitWithFlags", "nvmlShutdown")]
    assert calls == ["nvmlInitWithFlags", "nvmlShutdown", "nvmlInitWithFlags"]


def test_a_gpu_that_stays_lost_is_looked_for_more_and_more_rarely(nvml_shim: NvmlShim) -> None:
    """A look each 30 s for an hour; then it comes back, and one that is lost later is looked for at once again."""
    nvml_shim.write(GPU0, GPU1, "error;function=*;gpu=0;code=15")
    code = f"""
def look():
    global now
    now += 30.0
    return [ask("DeviceGetCount"), ask("DeviceGetUUID", 0), ask("DeviceGetUUID", 1)]
lost = [look() for _ in range(120)]
write({GPU0!r}, {GPU1!r})
back = [look() for _ in range(21)][-1]
look()
write({GPU0!r}, {GPU1!r}, "error;function=*;gpu=0;code=15")
again = [look(), look()]
answer = [lost[0], lost[-1], back, again[0]]
"""
    gone, here = [2, "gone", "GPU-1"], [2, "GPU-0", "GPU-1"]
    assert run(nvml_shim, code) == [gone, gone, here, gone]
    opened = nvml_shim.calls().count("nvmlInitWithFlags")
    # At 30, 60, 120, 240, 480, 960 s, then each 600 s: 10 times in the hour, not 120. Then once for the one that came
    # back, and at once for the next.
    assert opened == 12


def test_a_driver_reload_is_gone_then_well(nvml_shim: NvmlShim) -> None:
    nvml_shim.write(GPU0)
    code = f"""
first = ask("DeviceGetCount")
os.remove(os.environ["NVML_SHIM_FILE"])
away = [ask("DeviceGetCount"), ask("DeviceGetCount")]
write({GPU0!r})
answer = [first, away, ask("DeviceGetCount")]
"""
    assert run(nvml_shim, code) == [1, ["gone", "gone"], 1]


def test_an_upgraded_driver_brings_its_own_library(nvml_library: Callable[..., Path], tmp_path: Path) -> None:
    """The new library (told by a function that the old one lacks) is loaded from the same path."""
    library = tmp_path / "libnvidia-ml.so.1"
    library.symlink_to(nvml_library("nvmlDeviceGetName"))
    shim = NvmlShim(library=library, file=tmp_path / "nvml.txt", log=tmp_path / "nvml.log")
    shim.write(GPU0)
    code = f"""
old = [ask("DeviceGetCount"), ask("DeviceGetName", 0)]
nvml.release(); released(); now = 1000.0
os.remove({str(library)!r})
os.symlink({str(nvml_library())!r}, {str(library)!r})
write({GPU0!r}, "error;function=nvmlInitWithFlags;code=18")
mismatch = ask("DeviceGetCount")
write({GPU0!r})
answer = [old, mismatch, ask("DeviceGetCount"), ask("DeviceGetName", 0)]
"""
    assert run(shim, code) == [[1, "absent"], "gone", 1, "NVIDIA H100"]


def test_release_gives_up_the_handles_for_a_while(nvml_shim: NvmlShim) -> None:
    nvml_shim.write(GPU0)
    code = """
first = ask("DeviceGetCount")
nvml.release(); released()
closed = Path(os.environ["NVML_SHIM_LOG"]).read_text().split()[-1]
during = ask("DeviceGetCount")
now = 299.0
nvml.release(); released()
now = 598.0
again = ask("DeviceGetCount")
now = 599.0
answer = [first, closed, during, again, ask("DeviceGetCount")]
"""
    assert run(nvml_shim, code) == [1, "nvmlShutdown", "gone", "gone", 1]


def test_release_never_waits_for_a_stuck_call_nor_shuts_down_beside_it(nvml_shim: NvmlShim) -> None:
    nvml_shim.write(GPU0, record("hang", function="nvmlDeviceGetUUID"))
    code = f"""
answers = []
reader = threading.Thread(target=lambda: answers.append(ask("DeviceGetUUID", 0)), daemon=True)
reader.start()
until_called("nvmlDeviceGetUUID")
beside = ask("DeviceGetCount")
nvml.release(); released()
closed_while_stuck = "nvmlShutdown" in Path(os.environ["NVML_SHIM_LOG"]).read_text()
write({GPU0!r})
reader.join()
answer = [beside, closed_while_stuck, answers]
"""
    assert run(nvml_shim, code) == ["stuck", False, ["GPU-0"]]
    assert nvml_shim.calls()[-1] == "nvmlShutdown", "the call that came back gave up the handles"


def test_a_process_ends_although_a_call_is_stuck(nvml_shim: NvmlShim) -> None:
    nvml_shim.write(GPU0, record("hang", function="nvmlDeviceGetUUID"))
    code = """
threading.Thread(target=lambda: ask("DeviceGetUUID", 0), daemon=True).start()
until_called("nvmlDeviceGetUUID")
answer = "ended"
"""
    assert run(nvml_shim, code) == "ended"


def test_a_forked_child_opens_its_own(nvml_shim: NvmlShim) -> None:
    nvml_shim.write(GPU0)
    code = """
first = ask("DeviceGetCount")
child = os.fork()
if child == 0:
    os._exit(0 if ask("DeviceGetCount") == 1 else 1)
answer = [first, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), ask("DeviceGetCount")]
"""
    assert run(nvml_shim, code) == [1, 0, 1]
    assert nvml_shim.calls().count("nvmlInitWithFlags") == 2


def test_a_name_that_is_no_text_is_garbled(nvml_shim: NvmlShim) -> None:
    nvml_shim.file.write_bytes(b"gpu;pci=0000:8d:00.0;uuid=GPU-0;name=\xff\xfe\n")
    assert run(nvml_shim, "answer = [ask('DeviceGetName', 0), ask('DeviceGetUUID', 0)]") == ["garbled", "GPU-0"]
