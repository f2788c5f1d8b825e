"""Process 1 of the node: lays its mounts and its network, starts its processes, reaps, and takes all down with it.

Run as `python -m tests.kubernetes.e2e.node SCRATCH NODE KUBERNETES` in namespaces of its own for mounts, network,
processes, host name and cgroups. When it ends, the kernel kills whatever is left in them. It ends with its standard
input.
"""

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.kubernetes.e2e import processes, settings
from tests.kubernetes.e2e.settings import Folders

# What the kubelet sets on a machine; it finds them as it wants them and the machine's own stay as they are.
SYSCTLS = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1_000_000,
    "kernel/keys/root_maxbytes": 25_000_000,
}


def main() -> None:
    threading.Thread(target=end_with_parent, daemon=True).start()
    scratch, node, kubernetes = map(Path, sys.argv[1:])
    folders = Folders(scratch)
    socket.sethostname(settings.NODE_NAME)
    lay_mounts(scratch)
    lay_network()
    settings.write(folders, node)
    folders.logs.mkdir()
    os.environ["PATH"] = f"{node}/usr/bin:{node}/usr/sbin:{os.environ['PATH']}"
    supervisor = Supervisor(folders.logs)
    supervisor.start(processes.etcd(node, folders))
    supervisor.start(processes.containerd(node, folders))
    await_port("127.0.0.1", 2379)
    supervisor.start(processes.kube_apiserver(kubernetes, folders))
    await_port(settings.NODE_ADDRESS, 6443)
    await_file(settings.CONTAINERD_SOCKET)
    for command in (processes.kube_controller_manager, processes.kube_scheduler, processes.kubelet):
        supervisor.start(command(kubernetes, folders))
    supervisor.run()


class Supervisor:
    """Starts processes, and starts again those that end, as an init system does."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._commands: dict[int, list[str]] = {}

    def start(self, command: list[str]) -> None:
        with (self._logs / f"{Path(command[0]).name}.log").open("ab") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._commands[process.pid] = command

    def run(self) -> None:
        """For ever. Other children are orphans: the shims of containers."""
        while True:
            pid, _ = os.wait()
            if pid in self._commands:
                self.start(self._commands.pop(pid))


def end_with_parent() -> None:
    """Who started the node holds the other end of its standard input: it closes it, or dies."""
    os.read(0, 1)
    os._exit(0)


def lay_mounts(scratch: Path) -> None:
    """The node's own /var/lib, /var/log and /run over the machine's, and the cgroups as its namespace shows them."""
    mount("--make-rprivate", "/")
    for name in ("lib", "log"):
        upper, work = scratch / f"var-{name}", scratch / f"var-{name}.work"
        upper.mkdir()
        work.mkdir()
        layers = f"lowerdir=/var/{name},upperdir={upper},workdir={work}"
        mount("-t", "overlay", "-o", layers, "overlay", f"/var/{name}")
    mount("-t", "tmpfs", "tmpfs", "/run")
    images = scratch / "containerd"
    images.mkdir()
    mount("-t", "tmpfs", "tmpfs", str(images))  # ten thousand files of an image are not worth writing to a disk
    hierarchies = cgroup_hierarchies()
    mount("-t", "sysfs", "sysfs", "/sys")  # shows this network namespace's devices
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", "/sys/fs/cgroup")
    for name in hierarchies:
        folder = Path("/sys/fs/cgroup", name.removeprefix("name="))
        folder.mkdir()
        mount("-t", "cgroup", "-o", f"none,{name}" if "=" in name else name, "cgroup", str(folder))
    for name, value in SYSCTLS.items():
        file = scratch / "sysctl" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{value}\n")
        mount("--bind", str(file), f"/proc/sys/{name}")
    mount("--make-rshared", "/")


def cgroup_hierarchies() -> list[str]:
    """Their controllers as they are mounted on the machine: `cpu,cpuacct`, `memory`, `name=systemd`."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    return [controllers for _, controllers, _ in (line.split(":", 2) for line in lines) if controllers]


def lay_network() -> None:
    """A veth pair whose far end nobody listens on: the kubelet wants a default route and an address on a device."""
    for command in (
        "link set lo up",
        "link add node0 type veth peer name wire0",
        "link set wire0 up",
        "link set node0 up",
        f"address add {settings.NODE_ADDRESS}/24 dev node0",
        f"route add default via {settings.GATEWAY}",
    ):
        subprocess.run(["ip", *command.split()], check=True)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1\n")


def await_port(address: str, port: int) -> None:
    while True:
        try:
            socket.create_connection((address, port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)


def await_file(path: str) -> None:
    while not Path(path).exists():
        time.sleep(0.1)


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


if __name__ == "__main__":
    main()
