"""Who holds a GPU and who belongs to them, on hosts made of text."""

import pytest

from numa_exporter.formats.pci_address import parse as pci
from numa_exporter.model.gpus import Gpus, MigInstance
from numa_exporter.model.machine import PciFunction
from numa_exporter.model.processes import Processes
from numa_exporter.model.recording import Answer, Question
from numa_exporter.sources.host import Host
from numa_exporter.sources.processes import ProcessesReader
from numa_exporter.sources.replay import ReplayHost
from numa_exporter.sources.source import Outcome
from tests.fakehost import DENIED, GONE, fake_host
from tests.sources import proc_tree
from tests.sources.proc_tree import BOOT, CONTAINER, KTHREAD, SIBLING, STRANGER, WALL, context, machine, process, sample

INIT_NAMESPACE = "pid:[4026531836]"
DEVICES = "Character devices:\n195 nvidia\n507 nvidia-uvm\n234 kfd\n240 vfio\n\nBlock devices:\n"


def look(host: Host, gpus: Gpus | None, reader: ProcessesReader | None = None) -> Outcome[Processes]:
    return (reader or ProcessesReader(None)).read(host, sample(host, gpus=gpus))


def answer(host: ReplayHost, question: Question, given: Answer) -> None:
    """One more answer in the current frame."""
    object.__setattr__(host.frame, "answers", {**host.frame.answers, question: given})


def pids(outcome: Outcome[Processes]) -> list[int]:
    assert outcome.value is not None
    return [found.key.pid for found in outcome.value.processes]


def counts(outcome: Outcome[Processes]) -> tuple[int, int]:
    assert outcome.value is not None
    return outcome.value.unattributed, outcome.value.denied


def test_a_holder_with_all_that_is_known_of_it() -> None:
    host = fake_host(machine(process(42, comm="VLLM::W) 1", start=7000, threads=3, ticks=(150, 50), ppid=41)))
    outcome = look(host, proc_tree.gpus(context(42, used_bytes=5 << 30)))
    assert outcome.value is not None and outcome.failure is None
    (found,) = outcome.value.processes
    assert (found.key.pid, found.key.start_ticks, found.comm, found.ppid) == (42, 7000, "VLLM::W) 1", 41)
    assert (found.threads, found.cpu_seconds, found.start_time) == (3, 2.0, BOOT + 70)
    assert found.cgroup is not None and found.cgroup.container_id == "a" * 64
    assert found.container_cgroup == found.cpuset_cgroup == "/sys/fs/cgroup" + CONTAINER
    assert [(e.uuid, e.evidence, e.used_bytes) for e in found.evidence] == [("GPU-0", "nvml", 5 << 30)]
    assert counts(outcome) == (0, 0)


def test_container_mates_and_pod_mates_belong_strangers_do_not() -> None:
    host = fake_host(
        machine(
            process(42), process(43), process(44, CONTAINER + "/inner"), process(45, SIBLING), process(46, STRANGER)
        )
    )
    outcome = look(host, proc_tree.gpus(context(42)))
    assert pids(outcome) == [42, 43, 44, 45]
    assert outcome.value is not None
    assert outcome.value.processes[2].container_cgroup == "/sys/fs/cgroup" + CONTAINER


def test_the_root_cgroup_is_nobodys_container() -> None:
    host = fake_host(machine(process(42, "/"), process(43, "/")))
    outcome = look(host, proc_tree.gpus(context(42)))
    assert pids(outcome) == [42]
    assert outcome.value is not None and outcome.value.processes[0].container_cgroup is None


def test_no_gpu_no_processes() -> None:
    host = fake_host(machine(process(42)))
    assert pids(look(host, None)) == []
    assert pids(look(host, proc_tree.gpus())) == []


def test_kernel_threads_and_zombies_are_no_processes_a_zombie_leader_with_threads_is() -> None:
    host = fake_host(
        machine(
            process(2, flags=KTHREAD),
            process(43, state="Z"),
            process(44, state="Z", threads=5),
            process(42),
        )
    )
    outcome = look(host, proc_tree.gpus(context(43), context(44)))
    assert pids(outcome) == [42, 44]
    assert counts(outcome) == (1, 0)


def test_a_pid_that_was_given_away_since_the_driver_named_it() -> None:
    late = int((WALL - BOOT + 5) * 100)
    host = fake_host(machine(process(42, start=late)))
    assert counts(look(host, proc_tree.gpus(context(42)))) == (1, 0)
    assert pids(look(host, proc_tree.gpus(context(42)))) == []
    assert pids(look(host, proc_tree.gpus(context(42), at=WALL + 10))) == [42]


def test_a_process_that_leaves_in_the_middle_is_counted_as_gone() -> None:
    host = fake_host(machine(process(42), {"/proc/43/stat": GONE}))
    outcome = look(host, proc_tree.gpus(context(42), context(43)))
    assert pids(outcome) == [42]
    assert outcome.counts == {"gone": 1}
    assert outcome.failure is None
    assert counts(outcome) == (1, 0)


def test_a_pid_reused_between_stat_and_cgroup_is_not_attributed() -> None:
    host = fake_host(machine(process(42)))
    answer(host, ("started", "/proc/42/stat processes"), 6000)
    outcome = look(host, proc_tree.gpus(context(42)))
    assert pids(outcome) == []
    assert outcome.counts == {"gone": 1}
    assert counts(outcome) == (1, 0)


def test_a_cgroup_that_may_not_be_read_is_denied() -> None:
    host = fake_host(machine(process(42, DENIED)))
    outcome = look(host, proc_tree.gpus(context(42)))
    assert counts(outcome) == (0, 1)
    assert outcome.failure is not None and outcome.failure.word == "denied"


def test_garbled_files_hit_one_process_only() -> None:
    host = fake_host(machine(process(42), {**process(43), "/proc/43/cgroup": "nonsense\n"}))
    outcome = look(host, proc_tree.gpus(context(42), context(43)))
    assert outcome.failure is not None
    assert (outcome.failure.word, outcome.failure.path) == ("garbled", "/proc/43/cgroup")
    assert pids(outcome) == [42, 43]
    assert counts(outcome) == (1, 0)


def test_without_the_hosts_pids_it_says_hostpid() -> None:
    status = {"/proc/self/status": "Name:\tnuma-exporter\nNSpid:\t1\n"}
    outside = fake_host(machine(status), links={"/proc/self/ns/pid": "pid:[4026532001]"})
    outcome = look(outside, proc_tree.gpus(context(4242)))
    assert outcome.failure is not None
    assert outcome.failure.word == "denied" and "hostPID" in outcome.failure.detail
    assert counts(outcome) == (1, 0)


def test_a_lost_pid_in_the_hosts_namespace_is_no_failure() -> None:
    ended = fake_host(machine(), links={"/proc/self/ns/pid": INIT_NAMESPACE})
    assert look(ended, proc_tree.gpus(context(4242))).failure is None
    # The host's /proc, mounted into a container with PIDs of its own: NSpid counts from the host's namespace.
    status = {"/proc/self/status": "Name:\tnuma-exporter\nNSpid:\t4000\t1\n"}
    mounted = fake_host(machine(status), links={"/proc/self/ns/pid": "pid:[4026532001]"})
    assert look(mounted, proc_tree.gpus(context(4242))).failure is None


def test_ourselves() -> None:
    host = fake_host(machine(process(42), own=42))
    outcome = look(host, proc_tree.gpus(context(42)))
    assert outcome.value is not None and outcome.value.processes[0].own


def test_compute_mps_and_graphics_lists_count_once() -> None:
    host = fake_host(machine(process(42)))
    both = proc_tree.gpus(context(42, kind="graphics", used_bytes=9), context(42, kind="compute", used_bytes=9))
    outcome = look(host, both)
    assert outcome.value is not None
    assert [(e.kind, e.used_bytes) for e in outcome.value.processes[0].evidence] == [("compute", 9)]


def test_a_graphics_context_alone_brings_nobody_along() -> None:
    host = fake_host(machine(process(42), process(43)))
    assert pids(look(host, proc_tree.gpus(context(42, kind="graphics")))) == [42]


def test_mig_instances_are_told_apart() -> None:
    host = fake_host(machine(process(42)))
    mig = (MigInstance(uuid="MIG-a", gpu_instance_id=1), MigInstance(uuid="MIG-b", gpu_instance_id=2))
    held = [context(42, gpu_instance_id=number, used_bytes=None) for number in (1, 2, 3)]
    outcome = look(host, proc_tree.gpus(*held, mig=mig, mig_enabled=True))
    assert outcome.value is not None
    evidence = outcome.value.processes[0].evidence
    assert [(e.gpu_instance_id, e.mig_uuid) for e in evidence] == [(1, "MIG-a"), (2, "MIG-b"), (3, None)]


def test_the_drivers_list_of_an_amd_gpu_is_kfd_evidence() -> None:
    host = fake_host(machine(process(42)))
    outcome = look(host, proc_tree.gpus(context(42), vendor="amd"))
    assert outcome.value is not None
    assert outcome.value.processes[0].evidence[0].evidence == "kfd"


def opened(*numbers: tuple[int, int], pid: int = 42) -> dict[str, tuple[int, int]]:
    return {f"/proc/{pid}/fd/{at}": number for at, number in enumerate(numbers, 3)}


def test_open_devices_are_evidence_where_there_is_no_library() -> None:
    host = fake_host(
        machine(process(42), process(43), {"/proc/devices": DEVICES}),
        devices=opened((195, 255), (507, 0), (195, 0), (195, 254)),
    )
    outcome = look(host, proc_tree.gpus(nvml=False))
    assert outcome.value is not None
    assert pids(outcome) == [42, 43]
    (evidence,) = outcome.value.processes[0].evidence
    assert (evidence.evidence, evidence.opened_compute, evidence.used_bytes) == ("fd", True, None)


def test_an_open_device_is_no_holding_where_nvml_speaks() -> None:
    """A monitor: it is listed, its container is not."""
    host = fake_host(machine(process(42), process(43), {"/proc/devices": DEVICES}), devices=opened((195, 0), (507, 0)))
    assert pids(look(host, proc_tree.gpus())) == [42]


def test_the_best_evidence_for_a_gpu_wins() -> None:
    host = fake_host(machine(process(42), {"/proc/devices": DEVICES}), devices=opened((195, 0), (507, 0)))
    outcome = look(host, proc_tree.gpus(context(42)))
    assert outcome.value is not None
    assert [e.evidence for e in outcome.value.processes[0].evidence] == ["nvml"]


def amd_function(address: str) -> PciFunction:
    found = pci(address)
    assert found is not None
    return PciFunction(address=found, vendor=0x1002, pci_class=0x038000, numa_node=0, real_path="/sys/devices/x")


def test_a_drm_client_holds_what_its_fdinfo_says() -> None:
    client = "drm-driver:\tamdgpu\ndrm-client-id:\t7\ndrm-pdev:\t0000:c3:00.0\ndrm-memory-vram:\t2048 KiB\n"
    files = {"/proc/42/fdinfo/3": client, "/proc/42/fdinfo/4": client}
    host = fake_host(machine(process(42), files, {"/proc/devices": DEVICES}), devices=opened((226, 129), (226, 129)))
    gpus = proc_tree.gpus(nvml=False, vendor="amd", minor=None, function=amd_function("0000:c3:00.0"))
    outcome = look(host, gpus)
    assert outcome.value is not None
    (evidence,) = outcome.value.processes[0].evidence
    assert (evidence.evidence, evidence.used_bytes, evidence.kind) == ("drm", 2 << 20, "compute")


def test_a_render_node_without_fdinfo_and_a_card_node_with() -> None:
    card = {"/proc/43/fdinfo/3": "drm-driver:\tamdgpu\ndrm-pdev:\t0000:c3:00.0\n"}
    devices = opened((226, 129)) | opened((226, 1), pid=43)
    host = fake_host(machine(process(42), process(43, STRANGER), card), devices=devices)
    gpus = proc_tree.gpus(nvml=False, vendor="amd", minor=None, render_minor=129, function=amd_function("0000:c3:00.0"))
    outcome = look(host, gpus)
    assert outcome.value is not None
    kinds = [(found.key.pid, found.evidence[0].kind) for found in outcome.value.processes]
    assert kinds == [(42, "compute"), (43, "graphics")]


def test_a_virtual_machine_with_the_gpu_passed_through() -> None:
    host = fake_host(
        machine(
            process(42, "/machine.slice/machine-qemu\\x2d1.scope"),
            {"/proc/devices": DEVICES, "/sys/kernel/iommu_groups/27/devices/0000:c3:00.0/class": ""},
        ),
        devices=opened((240, 3)),
        links={"/sys/dev/char/240:3": "/sys/devices/virtual/vfio/27"},
    )
    gpus = proc_tree.gpus(nvml=False, vendor="amd", function=amd_function("0000:c3:00.0"))
    outcome = look(host, gpus)
    assert outcome.value is not None
    assert [e.evidence for e in outcome.value.processes[0].evidence] == ["vfio"]


def test_descriptors_that_may_not_be_seen_name_the_capability() -> None:
    listing = fake_host(machine(process(42)))
    answer(listing, ("list", "/proc/42/fd"), DENIED)
    failure = look(listing, proc_tree.gpus(nvml=False)).failure
    assert failure is not None and (failure.word, failure.path) == ("denied", "/proc/42/fd")
    assert "CAP_DAC_READ_SEARCH" in failure.detail

    device = fake_host(machine(process(42)))
    answer(device, ("device", "/proc/42/fd/0"), DENIED)
    failure = look(device, proc_tree.gpus(nvml=False)).failure
    assert failure is not None and "CAP_SYS_PTRACE" in failure.detail


def test_descriptors_that_nobody_needs_are_counted_only() -> None:
    """Where the driver lists who computes, and where there is no GPU at all, other users' descriptors tell nothing."""
    host = fake_host(machine(process(42)))
    answer(host, ("list", "/proc/42/fd"), DENIED)
    listed = look(host, proc_tree.gpus(context(42)))
    assert (pids(listed), listed.failure, listed.counts) == ([42], None, {"denied": 1})
    no_gpu = look(host, Gpus(gpus=()))
    assert (pids(no_gpu), no_gpu.failure, no_gpu.counts) == ([], None, {})


@pytest.mark.parametrize("stuck", [None, proc_tree.gpus(contexts=None)], ids=["no answer", "no lists"])
def test_a_silent_driver_forgets_nobody_for_ten_minutes(stuck: Gpus | None) -> None:
    host = fake_host(machine(process(42), process(43), process(46, STRANGER)), later=[{}, {}], seconds=590.0)
    reader = ProcessesReader(None)
    assert pids(look(host, proc_tree.gpus(context(42)), reader)) == [42, 43]
    host.advance()
    silent = look(host, stuck, reader)
    assert silent.value is not None
    assert [(found.key.pid, found.evidence) for found in silent.value.processes] == [(42, ()), (43, ())]
    host.advance()
    assert pids(look(host, stuck, reader)) == []


def test_a_silent_driver_keeps_nobody_who_ended() -> None:
    host = fake_host(machine(process(42), process(43)), later=[process(42, STRANGER, start=9000)])
    reader = ProcessesReader(None)
    look(host, proc_tree.gpus(context(42), context(43)), reader)
    host.advance()
    assert pids(look(host, None, reader)) == [43]


def test_the_scan_goes_round_the_youngest_new_process_first() -> None:
    """One descriptor a look is one process a look."""
    reader = ProcessesReader(descriptors=1)
    gpus = proc_tree.gpus(nvml=False)
    pair = machine(process(42, STRANGER, start=100), process(43, STRANGER, start=200), {"/proc/44/stat": GONE})
    appears = process(44, STRANGER, start=300)
    devices = {f"/proc/{pid}/fd/3": (195, 0) for pid in (42, 43, 44)}
    host = fake_host(pair, later=[appears, appears, appears], devices=devices)
    seen = [pids(look(host, gpus, reader))]
    while host.advance():
        seen.append(pids(look(host, gpus, reader)))
    assert seen == [[43], [43, 44], [42, 43, 44], [42, 43, 44]]


def test_a_moved_process_is_found_in_its_new_cgroup_at_once_if_it_holds_a_gpu() -> None:
    host = fake_host(machine(process(42), process(43)), later=[{"/proc/42/cgroup": f"0::{STRANGER}\n"}])
    reader = ProcessesReader(None)
    assert pids(look(host, proc_tree.gpus(context(42)), reader)) == [42, 43]
    host.advance()
    outcome = look(host, proc_tree.gpus(context(42)), reader)
    assert pids(outcome) == [42]
    assert outcome.value is not None
    assert outcome.value.processes[0].cgroup is not None
    assert outcome.value.processes[0].cgroup.unit == "sshd.service"


def test_a_restarted_process_under_the_same_pid_starts_afresh() -> None:
    host = fake_host(machine(process(42), process(43)), later=[process(43, STRANGER, start=9000)])
    reader = ProcessesReader(None)
    look(host, proc_tree.gpus(context(42)), reader)
    host.advance()
    assert pids(look(host, proc_tree.gpus(context(42)), reader)) == [42]


def test_a_cpuset_lies_where_proc_says_not_where_the_container_is() -> None:
    mounts = (
        "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    )
    docker = "/docker/" + "c" * 64
    files = {
        **process(42),
        "/proc/42/cgroup": f"3:cpuset:/\n4:memory:{docker}\n0::/system.slice/docker.service\n",
        "/proc/42/cpuset": "/\n",
    }
    outcome = look(fake_host(machine(files, mounts=mounts)), proc_tree.gpus(context(42)))
    assert outcome.value is not None
    (found,) = outcome.value.processes
    assert found.container_cgroup == f"/sys/fs/cgroup/memory{docker}"
    assert found.cpuset_cgroup == "/sys/fs/cgroup/cpuset"
