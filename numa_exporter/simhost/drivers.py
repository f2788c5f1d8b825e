"""What NVML answers: the GPUs, and who has a context on them."""

import json

from numa_exporter.model.recording import Json, Refusal
from numa_exporter.simhost.answers import Answers
from numa_exporter.simhost.cast import Cast
from numa_exporter.simhost.hardware import UPTIME
from numa_exporter.simhost.layout import Layout, SimulatedGpu

UNSUPPORTED = Refusal(word="absent", detail="Not Supported")
PCIE_BYTES_A_CORE = 1.2e9
"""Bytes a second that a rank moves to its GPU for each core that it keeps busy."""
DRIVER = "570.124.06"


def standing(layout: Layout) -> Answers:
    """What NVML says of the GPUs whatever the moment."""
    answers = Answers()
    _say(answers, len(layout.gpus), "DeviceGetCount")
    _say(answers, DRIVER, "SystemGetDriverVersion")
    for gpu in layout.gpus:
        index = gpu.index
        _say(answers, {"domain": 0, "bus": gpu.bus + 3, "device": 0}, "DeviceGetPciInfo", index)
        _say(answers, gpu.uuid, "DeviceGetUUID", index)
        _say(answers, layout.machine.gpu_model, "DeviceGetName", index)
        _say(answers, index, "DeviceGetMinorNumber", index)
        _say(answers, False, "DeviceGetMigMode", index)
        _say(answers, UNSUPPORTED, "DeviceGetC2cModeInfoV", index)
        _say(answers, 16, "DeviceGetCurrPcieLinkWidth", index)
        _say(answers, 16, "DeviceGetMaxPcieLinkWidth", index)
        affinity: Json | Refusal = [1 << gpu.node] if gpu.node >= 0 else UNSUPPORTED
        _say(answers, affinity, "DeviceGetMemoryAffinity", index)
        for kind in ("MPSCompute", "Graphics"):
            _say(answers, [], f"DeviceGet{kind}RunningProcesses", index)
    return answers


def moving(layout: Layout, cast: Cast, now: float) -> Answers:
    """Contexts with their used bytes, and the bytes that went over PCIe since the driver was loaded."""
    answers = Answers()
    for gpu in layout.gpus:
        rows: list[Json] = [
            [task.pid, int(task.gpu_memory * task.loaded(now)), None]
            for one in cast.alive(now)
            for task in one.tasks
            if task.gpu == gpu.index and task.started <= now
        ]
        _say(answers, rows, "DeviceGetComputeRunningProcesses", gpu.index)
        received = PCIE_BYTES_A_CORE * _busy(gpu, cast, now) + 1e6 * (UPTIME + now)
        _say(answers, {"rx": int(received), "tx": int(received * 0.4)}, "DeviceGetFieldValues", gpu.index)
    return answers


def _busy(gpu: SimulatedGpu, cast: Cast, now: float) -> float:
    """CPU seconds of the ranks that ever held the GPU."""
    return sum(
        task.seconds(min(now, one.ended)) - task.seconds(one.began)
        for one in cast.incarnations
        if one.began <= now
        for task in one.tasks
        if task.gpu == gpu.index
    )


def _say(answers: Answers, answer: "Json | Refusal", function: str, *arguments: int) -> None:
    answers.nvml(json.dumps([function, *arguments]), answer)
