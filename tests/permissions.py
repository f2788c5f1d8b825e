"""Measures what each capability opens, with setpriv and the real exporter; writes the tables of docs/permissions.md.

    sudo .venv/bin/python -m tests.permissions

Looks at a process of another user (tests/deploy/victim.py) of which an NVML of the tests' own says that it holds a GPU.
What this machine lacks is put in its place with the modes that it has elsewhere: a kubelet's folder and socket, its log
directories, resctrl.
"""

import io
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from numa_exporter.cli import main as cli
from numa_exporter.sources.host import HostError
from numa_exporter.sources.live import LiveHost
from numa_exporter.sources.roots import Roots
from tests.kubernetes.podresources_server import allocatable, gpu_pod, pods, serving
from tests.nvml.build import build, record

REPOSITORY = Path(__file__).resolve().parent.parent
DOCUMENT = REPOSITORY / "docs" / "permissions.md"
NOBODY = 65534
MINOR = 40
"""Of the GPU: none that other tests of this machine have at the same time."""
OLD_ENOUGH = 10.5
"""Seconds: the exporter leaves a younger process alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """A user with capabilities; ``None`` = all that root has."""

    name: str
    uid: int
    capabilities: tuple[str, ...] | None

    def command(self) -> list[str]:
        if self.capabilities is None:
            return []
        only = ",".join(["-all", *(f"+{name.lower()}" for name in self.capabilities)])
        become = ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups", f"--bounding-set={only}"]
        # root gets what the bounding set leaves it at the exec; anybody else needs them ambient
        return [*become, f"--inh-caps={only}", *([] if self.uid == 0 else [f"--ambient-caps={only}"])]


def _nobody(*capabilities: str) -> Rights:
    return Rights(name=" + ".join(capabilities) or "nothing", uid=NOBODY, capabilities=capabilities)


COLUMNS = (
    _nobody(),
    _nobody("SYS_PTRACE"),
    _nobody("DAC_READ_SEARCH"),
    _nobody("SYS_PTRACE", "DAC_READ_SEARCH"),
    _nobody("PERFMON"),
    _nobody("SYS_NICE"),
    _nobody("SYS_ADMIN"),
    Rights(name="root, nothing", uid=0, capabilities=()),
    Rights(name="root, SYS_PTRACE + DAC_READ_SEARCH", uid=0, capabilities=("SYS_PTRACE", "DAC_READ_SEARCH")),
    Rights(name="root, all", uid=0, capabilities=None),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The process that is looked at, where root's files lie, and the environment in which NVML tells of the process."""

    pid: int
    folder: Path
    environment: Mapping[str, str]

    @property
    def kubelet(self) -> Path:
        return self.folder / "kubelet"


Probe = Callable[[LiveHost, Scene], object]


def _connect(_: LiveHost, scene: Scene) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(scene.kubelet / "pod-resources/kubelet.sock"))


def _ask_pages(host: LiveHost, scene: Scene) -> object:
    (line, *_) = (line for line in Path("/proc/self/maps").read_text().splitlines() if "[stack]" in line)
    return host.page_nodes(scene.pid, [int(line.partition("-")[0], 16)])


PROBES: dict[str, Probe] = {
    "`/proc/PID/{stat,status,cgroup,cpuset}`, `task/*/{stat,schedstat}`": lambda host, scene: [
        host.read(f"/proc/{scene.pid}/{name}")
        for name in ("stat", "status", "cgroup", "cpuset", f"task/{scene.pid}/stat", f"task/{scene.pid}/schedstat")
    ],
    "`sched_getaffinity`": lambda host, scene: host.affinity(scene.pid),
    "`/proc/PID/{maps,numa_maps}`": lambda host, scene: [
        host.read(f"/proc/{scene.pid}/{name}") for name in ("maps", "numa_maps")
    ],
    "`move_pages` as a question": _ask_pages,
    "list `/proc/PID/fd`": lambda host, scene: host.list(f"/proc/{scene.pid}/fd"),
    "which device a descriptor is": lambda host, scene: host.device_number(f"/proc/{scene.pid}/fd/3"),
    "`/proc/PID/environ`": lambda host, scene: host.read(f"/proc/{scene.pid}/environ"),
    "root's files of mode 0600 (the kubelet's state)": lambda _, scene: (
        scene.kubelet / "cpu_manager_state"
    ).read_bytes(),
    "root's folders of mode 0700 (a runtime's description of a container)": lambda _, scene: (
        scene.folder / "bundle/config.json"
    ).read_bytes(),
    "root's sockets (the kubelet's PodResources)": _connect,
}


def furnish(folder: Path) -> None:
    """Modes: kubernetes pkg/kubelet (root directory, checkpoints, log directories), containerd's bundle, resctrl."""
    for name, mode in (
        ("kubelet", 0o750),
        ("kubelet/pod-resources", 0o750),
        ("log", 0o755),
        ("log/pods", 0o755),
        ("log/pods/prod_llm-0_068e8fa0-9213-11e7-a01f-507b9d4141fa", 0o755),
        ("bundle", 0o700),
        ("resctrl", 0o755),
        ("resctrl/mon_data", 0o555),
        ("resctrl/mon_data/mon_L3_00", 0o555),
        ("cgroup", 0o755),
    ):
        (folder / name).mkdir(mode)
    for name, mode, text in (
        ("kubelet/cpu_manager_state", 0o600, '{"policyName":"none","defaultCpuSet":"","checksum":1}'),
        ("bundle/config.json", 0o644, "{}"),
        ("resctrl/mon_data/mon_L3_00/mbm_total_bytes", 0o444, "1"),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(mode)


IN_PLACE = """
set -e
mount --rbind /sys/fs/cgroup "$0/cgroup"
mount -t tmpfs -o mode=755 none /sys/fs
mkdir /sys/fs/cgroup /sys/fs/resctrl
mount --rbind "$0/cgroup" /sys/fs/cgroup
mount --bind "$0/resctrl" /sys/fs/resctrl
mount --bind "$0/log" /var/log
exec "$@"
"""
"""In a mount namespace of its own: what furnish made lies where the exporter looks for it."""


@contextmanager
def scene() -> Iterator[Scene]:
    """A process of uid 1000 that is old enough to be looked at, and what else the probes want."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        furnish(folder)
        replies = {"List": pods(gpu_pod("GPU-0")), "GetAllocatableResources": allocatable({})}
        with serving(folder / "kubelet/pod-resources/kubelet.sock", **replies):
            device = folder / f"nvidia{MINOR}"
            os.mknod(device, 0o600 | 0o020000, os.makedev(195, MINOR))
            command = [sys.executable, str(REPOSITORY / "tests" / "deploy" / "victim.py"), str(device)]
            device.chmod(0o666)
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as victim:
                assert victim.stdout is not None
                victim.stdout.readline()
                driver = folder / "nvml.txt"
                gpu = record("gpu", pci="0000:8d:00.0", uuid="GPU-0", name="NVIDIA H100", minor=MINOR, nodes="0")
                driver.write_text(f"{gpu}\n{record('process', gpu=0, pid=victim.pid, used=4 << 30)}\n")
                build(folder)
                environment = {"LD_LIBRARY_PATH": name, "NVML_SHIM_FILE": str(driver)}
                time.sleep(OLD_ENOUGH)
                yield Scene(pid=victim.pid, folder=folder, environment=os.environ | environment)
                victim.kill()


def look(rights: Rights, at: Scene) -> dict[str, dict[str, str]]:
    """What the exporter's sources and the probes say in a process with these rights: yes, or the failure's word."""
    told = json.dumps({"pid": at.pid, "folder": str(at.folder)})
    done = subprocess.run(
        [
            "unshare",
            "--mount",
            "sh",
            "-c",
            IN_PLACE,
            at.folder,
            *rights.command(),
            sys.executable,
            "-m",
            "tests.permissions",
            told,
        ],
        env=at.environment,
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answer: dict[str, dict[str, str]] = json.loads(done.stdout)
    return answer


def _look_here(told: str) -> dict[str, dict[str, str]]:
    given = json.loads(told)
    at = Scene(pid=given["pid"], folder=Path(given["folder"]), environment={})
    host = LiveHost(Roots())
    files = {name: _word(probe, host, at) for name, probe in PROBES.items()}
    printed = io.StringIO()
    with redirect_stdout(printed):
        cli.main(["report", "--json", "--looks=1", f"--kubelet.root={at.kubelet}"])
    told_of = json.loads(printed.getvalue())["sources"]
    return {
        "sources": {name: "yes" if source["up"] else source["failure"] for name, source in told_of.items()},
        "files": files,
    }


def _word(probe: Probe, host: LiveHost, at: Scene) -> str:
    try:
        probe(host, at)
    except HostError as error:
        return error.word
    except PermissionError:
        return "denied"
    return "yes"


def measure(at: Scene) -> dict[str, str]:
    """The two tables, as Markdown."""
    with ThreadPoolExecutor(2) as pool:
        told = pool.map(lambda rights: look(rights, at), COLUMNS)
        looks = dict(zip((rights.name for rights in COLUMNS), told, strict=True))
    return {part: table({name: told[part] for name, told in looks.items()}) for part in ("sources", "files")}


def table(measured: dict[str, dict[str, str]]) -> str:
    """A Markdown table: what is read × rights."""
    rows = [name for name, word in measured["root, all"].items() if word != "absent"]
    lines = ["| | " + " | ".join(measured) + " |", "|---" * (1 + len(measured)) + "|"]
    for row in rows:
        cells = ("yes" if told[row] == "yes" else f"**{told[row]}**" for told in measured.values())
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


_TABLE = re.compile(r"(<!-- measured: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def written(tables: Mapping[str, str]) -> str:
    """The document with these tables."""
    return _TABLE.sub(lambda match: f"{match[1]}{tables[match[2]]}\n{match[3]}", DOCUMENT.read_text())


def main() -> None:
    if len(sys.argv) > 1:
        json.dump(_look_here(sys.argv[1]), sys.stdout)
        return
    with scene() as at:
        DOCUMENT.write_text(written(measure(at)))


if __name__ == "__main__":
    main()
