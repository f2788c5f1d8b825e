"""/proc/PID of every process, and /proc/PID/task/TID of every thread."""

from collections.abc import Iterable

from numa_exporter.simhost import pages
from numa_exporter.simhost.answers import Answers
from numa_exporter.simhost.cast import EXPORTER_PID, Cast
from numa_exporter.simhost.hardware import UPTIME
from numa_exporter.simhost.layout import CLOCK_TICKS, Layout, id_list, mask
from numa_exporter.simhost.task import Task

MOUNTS = "\n".join(
    (
        "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw",
        "25 22 0:23 / /dev/shm rw,nosuid,nodev shared:3 - tmpfs tmpfs rw",
        "31 22 0:27 / /sys/fs/cgroup rw,nosuid,nodev,noexec shared:9 - cgroup2 cgroup2 rw,nsdelegate",
    )
)
_DEVICES = {"nvidiactl": (195, 255), "nvidia-uvm": (510, 0)}


def answers(layout: Layout, cast: Cast, now: float) -> Answers:
    """All of /proc that belongs to processes, at one moment."""
    found = Answers()
    tasks = list(cast.tasks(now))
    found.listing("/proc", ["1", "2", "self", *(str(task.pid) for task in tasks)])
    found.file("/proc/1/stat", _stat(1, "systemd", 0, -UPTIME, 0.0, 1, 0))
    found.file("/proc/2/stat", _stat(2, "kthreadd", 0, -UPTIME, 0.0, 1, 0, flags=0x00200000))
    found.file("/proc/1/cgroup", "0::/init.scope")
    found.file("/proc/1/mountinfo", MOUNTS)
    found.listing("/proc/1/fd", [])
    for task in tasks:
        _process(found, task, layout, now)
        _threads(found, task, layout, now)
    found["file", "/proc/self/stat"] = found["file", f"/proc/{EXPORTER_PID}/stat"]
    found.link("/proc/self/ns/pid", "pid:[4026531836]")
    return found


def _process(found: Answers, task: Task, layout: Layout, now: float) -> None:
    folder = f"/proc/{task.pid}"
    start = task.started
    processor = _processor(task, 0, layout, now)
    found.file(
        f"{folder}/stat",
        _stat(task.pid, task.comm, task.parent, start, task.seconds(now), task.threads, processor),
    )
    found.file(f"{folder}/cgroup", f"0::{task.cgroup}")
    found.file(f"{folder}/cpuset", task.cgroup)
    found.file(f"{folder}/mountinfo", MOUNTS)
    mapped = pages.mappings(task, now)
    resident = sum(mapping.resident for mapping in mapped)
    found.file(f"{folder}/status", _status(task, layout, resident))
    found.file(f"{folder}/maps", "\n".join(mapping.maps_line for mapping in mapped))
    found.file(f"{folder}/numa_maps", "\n".join(mapping.numa_maps_line for mapping in mapped))
    descriptors = ["null", *task.opened]
    found.listing(f"{folder}/fd", [str(number) for number in range(len(descriptors))])
    for number, name in enumerate(descriptors):
        minor = name.removeprefix("nvidia")
        opened = (195, int(minor)) if minor.isdigit() else _DEVICES.get(name, (1, 3))
        found.device(f"{folder}/fd/{number}", opened)


def _threads(found: Answers, task: Task, layout: Layout, now: float) -> None:
    tids = range(task.pid, task.pid + task.threads)
    found.listing(f"/proc/{task.pid}/task", [str(tid) for tid in tids])
    allowed = mask(task.allowed, layout.cpus)
    for number, tid in enumerate(tids):
        folder = f"/proc/{task.pid}/task/{tid}"
        spent = task.thread_seconds(number, now)
        processor = _processor(task, number, layout, now)
        found.file(f"{folder}/stat", _stat(tid, task.comm, task.parent, task.started, spent, task.threads, processor))
        found.file(f"{folder}/schedstat", f"{int(spent * 1e9)} {int(spent * 1e6)} {int(spent * 50)}")
        found.affinity(tid, allowed)


def _processor(task: Task, number: int, layout: Layout, now: float) -> int:
    """The CPU that a thread ran on last: it wanders within its node."""
    here = _within(task.allowed, layout.cpus_of(task.node_of_thread(number)))
    return here[(5 * number + 3 * (task.gpu or 0) + int(now // 30)) % len(here)]


def _within(allowed: Iterable[int], cpus: tuple[int, ...]) -> tuple[int, ...]:
    permitted = frozenset(allowed)
    return tuple(cpu for cpu in cpus if cpu in permitted)


def _stat(
    pid: int,
    comm: str,
    parent: int,
    started: float,
    seconds: float,
    threads: int,
    processor: int,
    flags: int = 0x400000,
) -> str:
    """proc(5): field 9 is flags, 14 utime, 15 stime, 20 num_threads, 22 starttime, 39 processor."""
    user = int(seconds * CLOCK_TICKS * 0.9)
    system = int(seconds * CLOCK_TICKS) - user
    start = int((UPTIME + started) * CLOCK_TICKS)
    head = f"{pid} ({comm}) S {parent} {pid} {pid} 0 -1 {flags} 0 0 0 0 {user} {system} 0 0 20 0 {threads} 0 {start}"
    return f"{head} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 {processor} 0 0 0 0 0 0 0 0 0 0 0 0 0"


def _status(task: Task, layout: Layout, resident: int) -> str:
    rows = {
        "Name": task.comm,
        "Pid": str(task.pid),
        "PPid": str(task.parent),
        "Uid": "0\t0\t0\t0",
        "NSpid": str(task.pid),
        "VmRSS": f"{resident // 1024} kB",
        "RssAnon": f"{resident // 1024} kB",
        "HugetlbPages": "0 kB",
        "Threads": str(task.threads),
        "Cpus_allowed_list": id_list(task.allowed),
        "Mems_allowed_list": id_list(layout.nodes),
    }
    return "\n".join(f"{key}:\t{value}" for key, value in rows.items())
