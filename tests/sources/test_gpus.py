"""GPUs from hosts made of text: the PCI tree, the drivers' files, KFD, and NVML's answers."""

import json
from collections.abc import Mapping
from typing import Any

from numa_exporter.model.gpus import Gpu, GpuContext, Gpus, MigInstance
from numa_exporter.sources.gpus import GpusReader
from numa_exporter.sources.replay import ReplayHost
from numa_exporter.sources.source import Outcome
from tests.fakehost import DENIED, GONE, Files, fake_host
from tests.sources.machines import EMPTY, merged, pci_function

NVIDIA_0 = "/sys/devices/pci0000:80/0000:80:01.0/0000:8d:00.0"
NVIDIA_1 = "/sys/devices/pci10000:00/10000:00:01.0/10000:01:00.0"
AMD = "/sys/devices/pci0000:20/0000:20:01.1/0000:23:00.0"
INTEL = "/sys/devices/pci0000:40/0000:40:01.0/0000:41:00.0"
GAUDI = "/sys/devices/pci0000:60/0000:60:01.0/0000:61:00.0"
BMC = "/sys/devices/pci0000:00/0000:00:1c.0/0000:02:00.0"
VIRTUAL = "/sys/devices/pci0000:80/0000:80:01.0/0000:8d:00.4"

PARTS = (
    pci_function(NVIDIA_0, numa_node="1", current_link_width="16", max_link_width="16"),
    pci_function(NVIDIA_1, numa_node="-1"),
    pci_function(VIRTUAL, numa_node="1"),
    pci_function(AMD, vendor="0x1002", **{"class": "0x038000"}, product_name="AMD Instinct MI300X OAM"),
    pci_function(INTEL, vendor="0x8086", **{"class": "0x038000"}),
    pci_function(GAUDI, vendor="0x1da3", **{"class": "0x120000"}),
    pci_function(BMC, vendor="0x1a03", **{"class": "0x030000"}),
)
TREE = merged(*(files for files, _ in PARTS))
LINKS = merged(
    *(links for _, links in PARTS),
    {
        "/sys/bus/pci/devices/0000:8d:00.4/physfn": NVIDIA_0,
        "/sys/class/drm/card1/device": AMD,
        "/sys/class/drm/renderD128/device": AMD,
        "/sys/class/drm/renderD129/device": INTEL,
        "/sys/class/accel/accel3/device": GAUDI,
    },
)
DRIVER = {
    "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31\n",
    "/proc/driver/nvidia/gpus/0000:8d:00.0/information": "Model: NVIDIA H100\nGPU UUID: GPU-zero\nDevice Minor: 4\n",
    "/proc/driver/nvidia/gpus/0000:8d:00.0/numa_status": "Node:      2\nStatus:    online\n",
    "/proc/driver/nvidia/gpus/10000:01:00.0/information": "Model: NVIDIA H100\nGPU UUID: GPU-??\nDevice Minor: 5\n",
}
KFD = "/sys/class/kfd/kfd"
KFD_FILES = {
    f"{KFD}/topology/nodes/0/properties": "cpu_cores_count 64\nsimd_count 0\n",
    f"{KFD}/topology/nodes/0/gpu_id": "0\n",
    f"{KFD}/topology/nodes/1/properties": (
        "cpu_cores_count 0\nsimd_count 304\nlocation_id 8960\ndomain 0\ndrm_render_minor 128\nunique_id 255\n"
    ),
    f"{KFD}/topology/nodes/1/gpu_id": "51110\n",
    f"{KFD}/proc/77/vram_51110": "1073741824\n",
    f"{KFD}/proc/77/pasid": "32770\n",
    f"{KFD}/proc/78/vram_51110": "0\n",
}


def nvml(index: int, *, domain: int, bus: int, uuid: str, **answers: Any) -> dict[str, Any]:
    """Answers about one GPU, by question without its "DeviceGet"; what is left out is not supported."""
    told = {"PciInfo": {"domain": domain, "bus": bus, "device": 0}, "UUID": uuid, "Name": "NVIDIA H100"} | answers
    return {json.dumps([f"DeviceGet{name}", index]): answer for name, answer in told.items()}


SYSTEM: dict[str, Any] = {'["DeviceGetCount"]': 2, '["SystemGetDriverVersion"]': "550.90.07"}
BOTH = {
    **SYSTEM,
    **nvml(
        1,
        domain=0,
        bus=0x8D,
        uuid="GPU-zero",
        MinorNumber=4,
        MemoryAffinity=[0b1010, 1],
        C2cModeInfoV=True,
        CurrPcieLinkWidth=8,
        FieldValues={"tx": 10, "rx": 20},
        ComputeRunningProcesses=[[11, 1 << 30, None], [12, None, None]],
        MPSComputeRunningProcesses=[[13, 5, None]],
        GraphicsRunningProcesses=[[11, 1 << 30, None], [14, 7, None]],
    ),
    **nvml(0, domain=0x10000, bus=1, uuid="GPU-one", ComputeRunningProcesses=[]),
}


def read(
    files: Files, answers: Mapping[str, Any] | None = None, links: Mapping[str, str] = LINKS
) -> tuple[dict[str, Gpu], Outcome[Gpus]]:
    return look(GpusReader(), fake_host(files, links=links, nvml=answers or {}))


def look(reader: GpusReader, host: ReplayHost) -> tuple[dict[str, Gpu], Outcome[Gpus]]:
    outcome = reader.read(host, EMPTY)
    assert outcome.value is not None
    return {gpu.uuid: gpu for gpu in outcome.value.gpus}, outcome


def test_the_tree_alone_in_pci_order_without_bmc_and_virtual_functions() -> None:
    gpus, outcome = read(TREE)
    assert [(uuid, gpu.vendor) for uuid, gpu in gpus.items()] == [
        ("00000000:23:00.0", "amd"),
        ("00000000:41:00.0", "intel"),
        ("00000000:61:00.0", "intel"),
        ("00000000:8D:00.0", "nvidia"),
        ("00010000:01:00.0", "nvidia"),
    ]
    assert outcome.failure is None
    assert all(gpu.contexts is None for gpu in gpus.values())
    assert outcome.value == Gpus(gpus=tuple(gpus.values()), nvml=False)
    assert gpus["00000000:61:00.0"].minor == 3
    assert gpus["00000000:41:00.0"].render_minor == 129


def test_a_gpu_that_sysfs_lacks_has_the_address_that_nvml_says() -> None:
    gpus, _ = read({}, BOTH, links={})
    address = gpus["GPU-zero"].address
    assert (gpus["GPU-zero"].function, address and address.bus_id) == (None, "00000000:8D:00.0")


def test_nvidias_driver_knows_uuid_minor_and_memory_node_without_a_library() -> None:
    gpus, outcome = read({**TREE, **DRIVER})
    known, unopened = gpus["GPU-zero"], gpus["00010000:01:00.0"]
    assert (known.model, known.minor, known.memory_node) == ("NVIDIA H100", 4, 2)
    assert known.function is not None
    assert known.function.numa_node == 1, "its memory node is no affinity"
    assert (unopened.minor, unopened.memory_node) == (5, None)
    assert outcome.value is not None
    assert outcome.value.driver_version == "550.90.07"
    assert outcome.value.contexts_at is None


def test_a_tree_without_vendor_files_takes_the_drivers_word() -> None:
    files = {path: text for path, text in TREE.items() if not path.endswith("/vendor")}
    gpus, _ = read({**files, **DRIVER})
    assert list(gpus) == ["GPU-zero", "00010000:01:00.0"]


def test_nvml_adds_contexts_and_affinity() -> None:
    gpus, outcome = read({**TREE, **DRIVER}, BOTH)
    assert outcome.failure is None
    gpu, free = gpus["GPU-zero"], gpus["GPU-one"]
    assert (gpu.index, gpu.minor, gpu.memory_node, gpu.c2c) == (1, 4, 2, True)
    assert gpu.nvml_affinity == {1, 3, 64}
    assert (gpu.link_width, gpu.max_link_width) == (8, 16)
    assert (gpu.pcie_tx_bytes, gpu.pcie_rx_bytes) == (10, 20)
    assert gpu.function is not None
    assert gpu.function.real_path == NVIDIA_0
    assert gpu.contexts == (
        GpuContext(pid=11, kind="compute", used_bytes=1 << 30),
        GpuContext(pid=12, kind="compute"),
        GpuContext(pid=13, kind="mps", used_bytes=5),
        GpuContext(pid=14, kind="graphics", used_bytes=7),
    )
    assert (free.contexts, free.index, free.minor) == ((), 0, 5)
    assert outcome.value is not None
    assert outcome.value.nvml
    assert outcome.value.contexts_at is not None


def test_two_gpus_with_one_uuid_are_told_apart_and_said() -> None:
    twice = {**SYSTEM, **nvml(0, domain=0, bus=0x8D, uuid="GPU-x"), **nvml(1, domain=0x10000, bus=1, uuid="GPU-x")}
    gpus, outcome = read(TREE, twice)
    assert {"GPU-x", "00010000:01:00.0"} <= set(gpus)
    assert outcome.failure is not None and outcome.failure.word == "garbled"
    assert "GPU-x" in outcome.failure.detail


def test_a_gpu_that_only_nvml_sees_is_listed_without_a_function() -> None:
    gpus, _ = read({}, BOTH, links={})
    assert {uuid: gpu.function for uuid, gpu in gpus.items()} == {"GPU-zero": None, "GPU-one": None}


def mig(index: int, **answers: Any) -> dict[str, Any]:
    told = {"UUID": f"MIG-{index}", "GpuInstanceId": index + 5, "ComputeInstanceId": 0} | answers
    return {json.dumps([f"DeviceGet{name}", 0, index]): answer for name, answer in told.items()}


PARENT = nvml(0, domain=0, bus=0x8D, uuid="GPU-zero", MigMode=True, MaxMigDeviceCount=7, ComputeRunningProcesses=DENIED)


def test_mig_contexts_come_instance_by_instance_so_that_no_privilege_is_needed() -> None:
    answers = {
        '["DeviceGetCount"]': 1,
        **PARENT,
        **mig(1, ComputeRunningProcesses=[[11, None, None]]),
        **mig(4, ComputeRunningProcesses=[]),
    }
    gpus, outcome = read(TREE, answers)
    gpu = gpus["GPU-zero"]
    assert gpu.mig_enabled
    assert gpu.mig == (
        MigInstance(uuid="MIG-1", gpu_instance_id=6, compute_instance_id=0),
        MigInstance(uuid="MIG-4", gpu_instance_id=9, compute_instance_id=0),
    )
    assert gpu.contexts == (GpuContext(pid=11, kind="compute", gpu_instance_id=6),)
    assert outcome.failure is None, "the parent's list was not asked for"


def test_mig_contexts_that_nobody_may_see_are_unknown_and_denied() -> None:
    gpus, outcome = read(TREE, {'["DeviceGetCount"]': 1, **PARENT})
    assert gpus["GPU-zero"].contexts is None
    assert outcome.failure is not None
    assert outcome.failure.word == "denied"


def test_nvml_that_never_answered_is_no_failure_but_one_that_may_not_is() -> None:
    _, absent = read(TREE)
    _, denied = read(TREE, {'["DeviceGetCount"]': DENIED})
    assert absent.failure is None
    assert denied.failure is not None
    assert denied.failure.word == "denied"


def test_nvml_down_after_it_worked_leaves_identities_without_contexts() -> None:
    files = {**TREE, **DRIVER}
    reader = GpusReader()
    look(reader, fake_host(files, links=LINKS, nvml=BOTH))
    gpus, outcome = look(reader, fake_host(files, links=LINKS, nvml={'["DeviceGetCount"]': GONE}))
    assert outcome.failure is not None
    assert outcome.failure.word == "gone"
    assert outcome.value is not None
    assert outcome.value.nvml
    assert outcome.value.driver_version == "550.90.07"
    one, zero = gpus["GPU-one"], gpus["GPU-zero"]
    assert (one.contexts, one.pcie_tx_bytes, zero.contexts, zero.pcie_tx_bytes) == (None, None, None, None)
    assert zero.nvml_affinity == {1, 3, 64}
    back, well = look(reader, fake_host(files, links=LINKS, nvml=BOTH))
    assert well.failure is None
    assert back["GPU-one"].contexts == ()


def test_one_lost_gpu_leaves_the_others() -> None:
    lost = {question: GONE if question.endswith(", 1]") else answer for question, answer in BOTH.items()}
    reader = GpusReader()
    look(reader, fake_host(TREE, links=LINKS, nvml=BOTH))
    gpus, outcome = look(reader, fake_host(TREE, links=LINKS, nvml=lost))
    assert outcome.failure is not None
    assert outcome.failure.word == "gone"
    assert (gpus["GPU-zero"].contexts, gpus["GPU-one"].contexts) == (None, ())


def test_a_gpu_that_left_the_machine_is_not_kept() -> None:
    reader = GpusReader()
    look(reader, fake_host(TREE, links=LINKS, nvml=BOTH))
    gpus, _ = look(reader, fake_host({}, nvml={}))
    assert gpus == {}


def test_amd_through_kfd() -> None:
    gpus, outcome = read({**TREE, **KFD_FILES, "/sys/module/amdgpu/version": "6.8.5\n"})
    gpu = gpus["GPU-00000000000000ff"]
    assert outcome.failure is None
    assert (gpu.vendor, gpu.model, gpu.render_minor) == ("amd", "AMD Instinct MI300X OAM", 128)
    assert gpu.contexts == (GpuContext(pid=77, kind="compute", used_bytes=1 << 30),), "0 bytes is no context"
    assert outcome.value is not None
    assert (outcome.value.driver_version, outcome.value.nvml) == ("6.8.5", False)
    assert outcome.value.contexts_at is not None


def test_partitions_of_an_instinct_are_one_gpu() -> None:
    second = {
        f"{KFD}/topology/nodes/2/properties": "cpu_cores_count 0\nsimd_count 38\nlocation_id 268444416\ndomain 0\n",
        f"{KFD}/topology/nodes/2/gpu_id": "9\n",
        f"{KFD}/proc/77/vram_9": "24\n",
    }
    gpus, _ = read({**TREE, **KFD_FILES, **second})
    contexts = gpus["GPU-00000000000000ff"].contexts
    assert contexts == (GpuContext(pid=77, kind="compute", used_bytes=(1 << 30) + 24),)


def test_an_old_kfd_lists_no_processes() -> None:
    files = {path: text for path, text in KFD_FILES.items() if not path.startswith(f"{KFD}/proc")}
    gpus, _ = read({**TREE, **files})
    assert gpus["GPU-00000000000000ff"].contexts is None


def test_a_garbled_file_fails_alone() -> None:
    gpus, outcome = read({**TREE, **DRIVER, "/proc/driver/nvidia/gpus/0000:8d:00.0/information": "\0\0\0"}, BOTH)
    assert outcome.failure is not None
    assert outcome.failure.word == "garbled"
    assert gpus["GPU-zero"].model == "NVIDIA H100"
    assert len(gpus) == 5
