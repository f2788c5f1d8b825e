"""Whatever a file holds, a parser answers or raises ParseError, and soon.

Bundles can be made by anybody, and some files say what a workload chose. Python's int() raises ValueError past 4,300
digits (CVE-2020-10735), and a short list of ids can name all of them thousands of times.
"""

import importlib
import inspect
import pkgutil
import re
from collections import deque
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter import formats
from numa_exporter.formats import (
    cgroup_numa_stat,
    cpuacct,
    device_id,
    distance,
    excerpt,
    maps,
    memory_tier,
    numa_maps,
    page_size,
    pci_link,
    resctrl,
)
from numa_exporter.formats.backing import NO_DEVICES
from numa_exporter.formats.parse_error import ParseError

Parser = Callable[[bytes], object]


def parser(name: str, function: str = "parse") -> Parser:
    module = importlib.import_module(f"numa_exporter.formats.{name}")
    return lambda data: getattr(module, function)(data, "t")


MAPS = (
    b"7f0000400000-7f0000600000 rw-s 00200000 00:05 1026 /memfd:a (deleted)\n"
    b"7f0000600000-7f0000800000 rw-s 00000000 00:05 1027 /memfd:a (deleted)\n"
)
NUMA_MAPS = (
    b"7f0000400000 bind=static:0-1,4 file=/memfd:a\\040(deleted) dirty=512 N0=256 N1=256 kernelpagesize_kB=4\n"
    b"7f0000600000 bind=static:0-1,4 file=/memfd:a\\040(deleted) dirty=512 N0=256 N1=256 kernelpagesize_kB=4\n"
    b"7f0000800000 default stack:4242 huge anon=2 dirty=2 mapmax=3 N3=2 kernelpagesize_kB=2048\n"
)
STATUS = b"Name:\tvllm\nUid:\t1000\t1000\nNSpid:\t42\t1\nThreads:\t8\nVmRSS:\t 13924 kB\nCpus_allowed_list:\t0-3,8\n"
STATE = b'{"policyName":"static","defaultCpuSet":"0,4-27","entries":{"u":{"c":"1-3"}},"checksum":318470969}'
MEMORY = (
    b'{"policyName":"Static","machineState":{"0":{"numberOfAssignments":1,"memoryMap":{"memory":{"total":1}},'
    b'"cells":[0]}},"entries":{"u":{"c":[{"numaAffinity":[0],"type":"memory","size":1073741824}]}},"checksum":1}'
)
DEVICES = (
    b'{"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","ResourceName":"nvidia.com/gpu",'
    b'"DeviceIDs":{"1":["GPU-0"],"-1":["GPU-1"]}}],"RegisteredDevices":{"nvidia.com/gpu":["GPU-0"]}},"Checksum":1}'
)
SMI = (
    b"\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    b"GPU0\t X \tNV12\tPXB\t48-63,176-191\t3\tN/A\nGPU1\tNV12\t X \tPXB\t0-15\t0\t7\n"
    b"GPU[0]          : (Topology) Numa Node: 3\n"
)
NUMASTAT = b"numa_hit 1\nnuma_miss 2\nnuma_foreign 3\ninterleave_hit 4\nlocal_node 5\nother_node 6\n"
CONFIG = (
    b"kind: KubeletConfiguration\npodPidsLimit: 4096\nreservedSystemCPUs: 0-1,32\n"
    b'topologyManagerPolicyOptions: {max-allowable-numa-nodes: "16"}\n'
)

PARSERS: dict[str, tuple[Parser, bytes]] = {
    "auxv.parse": (parser("auxv"), bytes.fromhex("06000000000000000010000000000000110000000000000064") + bytes(23)),
    "cgroup_numa_stat.parse_v2": (parser("cgroup_numa_stat", "parse_v2"), b"anon N0=1629990912 N1=65225723904\n"),
    "cgroup_numa_stat.parse_v1": (
        lambda data: cgroup_numa_stat.parse_v1(data, "t", 4096),
        b"total=44611 N0=32631 N1=7501\nhierarchical_anon=46096 N0=12597 N1=18890\n",
    ),
    "cgroup_numa_stat.parse_hugetlb": (parser("cgroup_numa_stat", "parse_hugetlb"), b"total=16777216 N0=0 N1=1\n"),
    "cpuacct.parse": (lambda data: cpuacct.parse(data, "t", range(2)), b"123456 7890\n"),
    "cpuinfo.parse": (parser("cpuinfo"), b"vendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 7451\nflags\t: fpu\n"),
    "cpumask.parse": (parser("cpumask"), b"00000001,ffffffff\n"),
    "cpuset.parse_effective": (parser("cpuset", "parse_effective"), b"0-3,8\n"),
    "cpuset.parse_requested": (parser("cpuset", "parse_requested"), b"0-3,8\n"),
    "cpuset.parse_partition": (parser("cpuset", "parse_partition"), b"root invalid (Cpu list 0-3 in cpuset.cpus)\n"),
    "cri.parse": (parser("cri"), b"\x0a\x04\x0a\x02ab"),
    "distance.parse": (lambda data: distance.parse(data, "t", [0, 1]), b"10 21\n"),
    "driver_nvidia.parse_information": (
        parser("driver_nvidia", "parse_information"),
        b"Model: \t NVIDIA\nGPU UUID: \t GPU-1\nBus Location: \t 0000:01:00.0\nDevice Minor: \t 0\n",
    ),
    "driver_nvidia.parse_numa_status": (parser("driver_nvidia", "parse_numa_status"), b"Node: 255\nStatus: online\n"),
    "driver_nvidia.parse_version": (
        parser("driver_nvidia", "parse_version"),
        b"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19\n",
    ),
    "drm_fdinfo.parse": (
        parser("drm_fdinfo"),
        b"drm-driver:\tamdgpu\ndrm-pdev:\t0000:23:00.0\ndrm-client-id:\t7\ndrm-memory-vram:\t8192 KiB\n",
    ),
    "excerpt.members": (lambda data: excerpt.members(data, "t", ["Name"]), b'{"Name": "/llm", "Pid": 4711}'),
    "idlist.parse": (parser("idlist"), b"0-15,32-47,0-10:2/4\n"),
    "interrupts.parse": (parser("interrupts"), b"           CPU0       CPU1\n 42:     12   34  IO-APIC 2-edge timer\n"),
    "json_object.load": (parser("json_object", "load"), b'{"a": [1, 2.5, {"b": null}]}'),
    "kfd.parse": (
        parser("kfd"),
        b"cpu_cores_count 0\nsimd_count 480\nlocation_id 8960\ndomain 0\ndrm_render_minor 128\nunique_id 780998\n",
    ),
    "kubelet_config.parse": (parser("kubelet_config"), CONFIG),
    "kubelet_flags.parse": (parser("kubelet_flags"), b"/usr/bin/kubelet\0--reserved-cpus=0-3,8\0"),
    "kubelet_state.parse_cpu_manager": (parser("kubelet_state", "parse_cpu_manager"), STATE),
    "kubelet_state.parse_memory_manager": (parser("kubelet_state", "parse_memory_manager"), MEMORY),
    "kubelet_state.parse_devices": (parser("kubelet_state", "parse_devices"), DEVICES),
    "maps.parse": (lambda data: deque(maps.parse(data, "t"), maxlen=0), MAPS),
    "maps.files": (maps.files, MAPS),
    "maps.spans": (lambda data: maps.spans(data, "t", NO_DEVICES), MAPS),
    "maps.segments": (lambda data: maps.segments(data, NO_DEVICES), MAPS),
    "meminfo.parse": (parser("meminfo"), b"MemTotal:       65719624 kB\nHugePages_Total:       4\n"),
    "mempolicy.parse": (parser("mempolicy"), b"bind=static|balancing:0-1,4"),
    "mountinfo.parse": (
        parser("mountinfo"),
        b"31 23 0:27 / /sys/fs/cgroup\\040x rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
    ),
    "node_meminfo.parse": (parser("node_meminfo"), b"Node 0 MemTotal: 65719624 kB\nNode 0 MemFree: 123 kB\n"),
    "node_numastat.parse": (parser("node_numastat"), NUMASTAT),
    "numa_maps.fold": (lambda data: numa_maps.fold([data], "t", files=maps.files(MAPS)), NUMA_MAPS),
    "numa_maps.parse_line": (lambda data: numa_maps.parse_line(data, "t", 1), NUMA_MAPS.partition(b"\n")[0]),
    "number.parse": (parser("number"), b"-512\n"),
    "number.parse_hex": (parser("number", "parse_hex"), b"0x10de\n"),
    "nvidia_params.parse": (parser("nvidia_params"), b'DeviceFileMode: 438\nCoherentGPUMemoryMode: "driver"\n'),
    "pci_link.parse_speed": (lambda data: pci_link.parse_speed(data, "t"), b"16.0 GT/s PCIe\n"),
    "pci_link.parse_width": (lambda data: pci_link.parse_width(data, "t"), b"16\n"),
    "podman_containers.parse": (parser("podman_containers"), b'[{"id": "40af", "names": ["llm"], "layer": "1"}]'),
    "podresources.split_list": (parser("podresources", "split_list"), b"\x0a\x04\x0a\x02ab"),
    "podresources.parse_list": (parser("podresources", "parse_list"), b"\x0a\x04\x0a\x02ab"),
    "podresources.parse_pod": (parser("podresources", "parse_pod"), b"\x0a\x02ab"),
    "podresources.parse_get": (parser("podresources", "parse_get"), b"\x0a\x04\x0a\x02ab"),
    "podresources.parse_allocatable": (parser("podresources", "parse_allocatable"), b"\x0a\x04\x0a\x02ab"),
    "proc_cgroup.parse": (parser("proc_cgroup"), b"9:name=systemd:/system.slice/vllm.service\n0::/x\n"),
    "proc_devices.parse_character": (
        parser("proc_devices", "parse_character"),
        b"Character devices:\n195 nvidia\n\nBlock devices:\n259 blkext\n",
    ),
    "proc_stat.parse": (parser("proc_stat"), b"cpu  1 2 3 4 5\ncpu0 1 2 3 4 5 6 7 8\nbtime 1769860800\n"),
    "proc_status.parse": (parser("proc_status"), STATUS),
    "resctrl.parse": (parser("resctrl"), b"12345678\n"),
    "schedstat.parse": (parser("schedstat"), b"812345678 1234567 4321\n"),
    "smi_topology.parse": (parser("smi_topology"), SMI),
    "task_stat.parse": (
        parser("task_stat"),
        b"42 (a b) S 1 2 3 0 -1 4194304 1 2 3 4 55 66 7 8 20 0 9 0 777 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 17 3 0 0\n",
    ),
    "vmstat.counters": (parser("vmstat", "counters"), b"numa_hit 12\nnuma_pte_updates 3\n"),
    "vmstat.parse": (parser("vmstat"), b"numa_hit 12\nnuma_pte_updates 3\n"),
}
NAMES: dict[str, tuple[Callable[[str], object], str]] = {
    "device_id.parse": (device_id.parse, "GPU-9b341c59-f96b-ba85-c137-78c3652fea65::3"),
    "device_id.parse index": (device_id.parse, "0:1::2"),
    "device_id.parse gke": (device_id.parse, "nvidia0/gi1/vgpu1"),
    "device_id.parse old": (device_id.parse, "MIG-GPU-b8ea3855-276c-c9cb-b366-c6fa655957c5/1/0"),
    "memory_tier.tier": (memory_tier.tier, "memory_tier4"),
    "page_size.from_sysfs": (page_size.from_sysfs, "hugepages-2048kB"),
    "page_size.from_cgroup": (page_size.from_cgroup, "2MB"),
    "page_size.from_kubernetes": (page_size.from_kubernetes, "hugepages-2Mi"),
    "resctrl.domain": (resctrl.domain, "mon_sub_L3_02"),
}
TEXT_OF_BYTES = {"maps.unescape", "numa_maps.unescape", "excerpt.variable"}
"""They take bytes too, and cannot fail."""

every_parser = pytest.mark.parametrize(("parse", "sample"), PARSERS.values(), ids=PARSERS.keys())


def attempt(parse: Parser, data: bytes) -> None:
    try:
        parse(data)
    except ParseError as error:
        # However long the line was, what is said of it is one line for a log.
        assert len(str(error)) < 1000


def test_no_parser_is_forgotten() -> None:
    found = set()
    for module in pkgutil.iter_modules(formats.__path__):
        if module.name.endswith("_pb2"):
            continue
        for name, function in inspect.getmembers(importlib.import_module(f"numa_exporter.formats.{module.name}")):
            own = inspect.isfunction(function) and function.__module__.endswith(f".{module.name}")
            if own and not name.startswith("_") and next(iter(inspect.signature(function).parameters), "") == "data":
                found.add(f"{module.name}.{name}")
    assert found <= PARSERS.keys() | TEXT_OF_BYTES


@every_parser
def test_the_samples_are_right(parse: Parser, sample: bytes) -> None:
    parse(sample)


@every_parser
def test_numbers_of_thousands_of_digits(parse: Parser, sample: bytes) -> None:
    for match in re.finditer(rb"[0-9]+", sample):
        for digits in (b"9" * 5000, b"-9", b"9" * 40, b"18446744073709551616"):
            attempt(parse, sample[: match.start()] + digits + sample[match.end() :])


@pytest.mark.parametrize(("parse", "sample"), NAMES.values(), ids=NAMES.keys())
def test_names_with_numbers_of_thousands_of_digits(parse: Callable[[str], object], sample: str) -> None:
    assert parse(sample) is not None
    for match in re.finditer("[0-9]+", sample):
        parse(sample[: match.start()] + "9" * 5000 + sample[match.end() :])


@every_parser
def test_cut_short_anywhere(parse: Parser, sample: bytes) -> None:
    for at in range(len(sample)):
        attempt(parse, sample[:at])


@every_parser
@given(data=st.data())
def test_bytes_changed_anywhere(parse: Parser, sample: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(sample)))
    until = data.draw(st.integers(at, min(len(sample), at + 8)))
    attempt(parse, sample[:at] + data.draw(st.binary(max_size=8)) + sample[until:])


@every_parser
@given(data=st.binary(max_size=60))
def test_bytes_of_any_kind(parse: Parser, sample: bytes, data: bytes) -> None:
    attempt(parse, data)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("idlist.parse", b"0-65535," * 15_000),
        ("cpumask.parse", b"f" * 1_000_000),
        ("mempolicy.parse", b"bind:" + b"0-65535," * 15_000),
        ("numa_maps.parse_line", b"7f00 bind:" + b"0-65535," * 15_000 + b" anon=1 N0=1 kernelpagesize_kB=4"),
        ("proc_status.parse", STATUS + b"Mems_allowed_list:\t" + b"0-65535," * 15_000 + b"\n"),
    ],
    ids=["idlist", "cpumask", "mempolicy", "numa_maps", "proc_status"],
)
def test_what_would_take_minutes_is_refused(name: str, data: bytes) -> None:
    """All ids thousands of times over: 120 KB that took a look seven seconds."""
    parse, _ = PARSERS[name]
    with pytest.raises(ParseError):
        parse(data)


@pytest.mark.parametrize("data", [b"[" * 20_000, b'{"a":' * 20_000, b"a: " + b"[" * 3000, b"a: 2001-99-99\n"])
@pytest.mark.parametrize("name", ["excerpt.members", "kubelet_config.parse", "kubelet_state.parse_devices"])
def test_documents_of_endless_depth_and_days_that_are_none(name: str, data: bytes) -> None:
    with pytest.raises(ParseError):
        PARSERS[name][0](data)
