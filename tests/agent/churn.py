"""A host on which processes come and go for hours: every look another frame, made when it is asked for."""

from numa_exporter.model.recording import Frame, Recording
from numa_exporter.sources.replay import ReplayHost
from tests.agent.tree import files
from tests.fakehost import answers_of
from tests.sources.machines import merged
from tests.sources.proc_tree import V2, WALL, process, stat

TICK = 15.0
NUMA_MAPS = """\
00400000 default file=/usr/bin/python3 mapped=500 N0=500 kernelpagesize_kB=4
7f0000000000 default anon=300000 dirty=300000 N0=200000 N1=100000 kernelpagesize_kB=4
7f8000000000 default file=/dev/zero\\040(deleted) dirty=9000 N1=9000 kernelpagesize_kB=4
"""
MAPS = """\
00400000-00600000 r-xp 00000000 08:01 11 /usr/bin/python3
7f0000000000-7f0050000000 rw-p 00000000 00:00 0
7f8000000000-7f8003000000 rw-s 00000000 00:01 77 /dev/zero (deleted)
"""
MOUNTS = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + V2
STATUS = "VmRSS:\t 1238000 kB\nHugetlbPages:\t 0 kB\nNSpid:\t{pid}\n"


def container(number: int) -> str:
    pod = f"pod{number:08x}_d4aa_4885_a953_82976860b23a"
    return f"/kubepods.slice/kubepods-{pod}.slice/cri-containerd-{number + 1:012x}{'0' * 52}.scope"


def engine(pid: int, start: int, cgroup: str, look: int, threads: int = 3) -> dict[str, str]:
    """Everything that the sources read of one process; it used a second on each look."""
    told = {
        **process(pid, cgroup, start=start, ticks=(100 * look, 0), threads=threads),
        f"/proc/{pid}/maps": MAPS,
        f"/proc/{pid}/numa_maps": NUMA_MAPS,
        f"/proc/{pid}/mountinfo": MOUNTS,
        f"/proc/{pid}/status": STATUS.format(pid=pid),
    }
    for tid in range(pid, pid + threads):
        told[f"/proc/{pid}/task/{tid}/stat"] = stat(tid, start=start, cpu=(tid + look) % 4)
        told[f"/proc/{pid}/task/{tid}/schedstat"] = f"{look * 333_000_000} 0 1\n"
    return {path: str(text) for path, text in told.items()}


def living(look: int) -> list[tuple[int, int, str]]:
    """(pid, start ticks, cgroup) of who is there: two that stay, one in a container that nobody saw before, and one
    whose PID belonged to another process a few looks ago."""
    fleeting = 1000 + 10 * (look % 7), 1_000_000 + look, container(100 + look)
    reused = 2000, 1_000_000 + look // 3, container(3)
    return [(100, 5000, container(1)), (200, 5000, container(2)), fleeting, reused]


class ChurningHost(ReplayHost):
    """Nothing of a frame outlives it here, so that what grows is ours."""

    def __init__(self) -> None:
        super().__init__(Recording(nodename="churn", simulated=True, exporter="test", frames=(), settings={}))
        self._look = -1
        self._frame = self.step()

    @property
    def frame(self) -> Frame:
        return self._frame

    def step(self) -> Frame:
        """The next look, a tick later."""
        self._look += 1
        look = self._look
        told, links = files()
        everyone = living(look)
        for pid, start, cgroup in everyone:
            told = merged(told, engine(pid, start, cgroup, look))
        told |= {
            "/proc/1/mountinfo": V2,
            "/proc/stat": _cpus(look),
            "/proc/interrupts": f"      CPU0 CPU1 CPU2 CPU3\n 40:  {look * 20000} 0 0 0  mlx5\n",
            f"/proc/{everyone[2][0]}/numa_maps": "",  # it ended while its pages were read
        }
        nvml = {
            '["DeviceGetCount"]': 1,
            '["SystemGetDriverVersion"]': "550.90.07",
            '["DeviceGetUUID", 0]': "GPU-0",
            '["DeviceGetPciInfo", 0]': {"domain": 0, "bus": 0x41, "device": 0},
            '["DeviceGetComputeRunningProcesses", 0]': [[pid, 20 << 30, None] for pid, _, _ in everyone],
        }
        affinity = {tid: range(4) for pid, _, _ in everyone for tid in range(pid, pid + 3)}
        answers = answers_of(told, links=links, affinity=affinity, nvml=nvml)
        self._frame = Frame(taken_at=WALL + TICK * look, monotonic=1000.0 + TICK * look, answers=answers)
        return self._frame


def _cpus(look: int) -> str:
    lines = (f"cpu{cpu} {100 * look} 0 50 {1000 * look} 0 0 0 0 0 0\n" for cpu in range(4))
    return f"cpu  {400 * look} 0 200 0 0 0 0 0 0 0\n{''.join(lines)}btime {int(WALL) - 10_000}\n"
