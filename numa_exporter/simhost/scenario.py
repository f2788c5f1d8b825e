"""What a scenario file says: one machine, its workloads, and their lives.

TOML; every key is a field below, and one that is not is refused with the file and the key. Moments and durations are
text such as "-3h" or "12m30s", counted from the start of the demo; sizes are text such as "3GiB".
"""

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any

from numa_exporter.simhost import keys
from numa_exporter.simhost.keys import ScenarioError, key


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """A workload from one start to the next, or ``until`` it ends. ``restart`` false: the processes live on, only where
    they are allowed, run and have their pages changes.

    ``cpus`` is the container's cpuset: all, home or far (of a pod: what of it no Guaranteed pod owns), or kernel list
    text. ``bound``: threads and memory policy of each rank are bound to its home node or to the far one.
    ``remote_memory`` and ``remote_cpu``: the shares that lie or run on the far socket; ``socket_memory``: what lies on
    another node of the home socket. One share for all ranks, or a list.
    """

    at: float = key(keys.moment)
    restart: bool = key(keys.flag, True)
    until: float | None = key(keys.moment, None)
    cpus: str = key(keys.words, "all")
    bound: str = key(keys.words, "")
    socket_memory: tuple[float, ...] = key(keys.shares, (0.0,))
    remote_memory: tuple[float, ...] = key(keys.shares, (0.0,))
    remote_cpu: tuple[float, ...] = key(keys.shares, (0.0,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A server: one process for each GPU, and one that holds none. In a pod, or a systemd ``unit`` of its own.

    ``memory`` is what a rank allocates privately, ``pinned`` its host buffers, ``gpu_memory`` what it uses on its GPU;
    ``cores`` is how many CPUs a rank keeps busy. ``owner`` is Deployment or StatefulSet: it names the pods.
    """

    name: str = key(keys.words)
    gpus: tuple[int, ...] = key(keys.integers)
    life: tuple[Life, ...] = ()
    unit: str = key(keys.words, "")
    namespace: str = key(keys.words, "inference")
    container: str = key(keys.words, "server")
    owner: str = key(keys.words, "Deployment")
    qos: str = key(keys.words, "burstable")
    worker: str = key(keys.words, "VLLM::Worker")
    server: str = key(keys.words, "vllm")
    memory: int = key(keys.size, 3 << 30)
    pinned: int = key(keys.size, 512 << 20)
    gpu_memory: int = key(keys.size, 68 << 30)
    cores: float = key(keys.amount, 1.6)
    threads: int = key(keys.count, 24)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The hardware. ``gpus`` holds the NUMA node of each GPU; -1 where the firmware does not say. ``kubelet``: the
    Topology Manager's policy of the kubelet that runs here, if one does; its CPU manager is static."""

    gpus: tuple[int, ...] = key(keys.integers)
    sockets: int = key(keys.count, 2)
    nodes_per_socket: int = key(keys.count, 1)
    cores_per_node: int = key(keys.count, 32)
    threads_per_core: int = key(keys.count, 2)
    memory_per_node: int = key(keys.size, 1 << 40)
    gpu_model: str = key(keys.words, "NVIDIA H100 80GB HBM3")
    nics: bool = key(keys.flag, True)
    kernel: str = key(keys.words, "6.8.0-demo")
    kubelet: str = key(keys.words, "")
    observers: tuple[str, ...] = key(keys.texts, ("nv-hostengine", "nvidia-persiste", "nvidia-device-p"))

    @property
    def nodes(self) -> int:
        return self.sockets * self.nodes_per_socket


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """``past``: how long before its start a demo begins to look."""

    name: str
    description: str = key(keys.words)
    past: float = key(keys.moment)
    machine: Machine
    workload: tuple[Workload, ...] = ()


def built_in() -> tuple[str, ...]:
    """Names of the scenarios that come with the package."""
    folder = resources.files(__package__) / "scenarios"
    return tuple(sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml")))


def load(name: str) -> Scenario:
    """A built-in scenario by its name, or a file by its path. ScenarioError; OSError where a file cannot be read."""
    if name in built_in():
        return parse((resources.files(__package__) / "scenarios" / f"{name}.toml").read_text("utf-8"), f"{name}.toml")
    if not name.endswith(".toml"):
        raise ScenarioError(f"{name}: no such scenario; there are {', '.join(built_in())}, and files ending in .toml")
    with open(name, encoding="utf-8") as file:
        return parse(file.read(), name)


def parse(text: str, path: str) -> Scenario:
    """A scenario from TOML; ``path`` is for messages and names it."""
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{path}: not TOML: {error}") from error
    whole = dict(told)
    machine = keys.read(Machine, keys.table(whole.pop("machine", {}), path, "machine"), path, "machine.")
    workloads = tuple(
        _workload(one, path, f"workload[{number}].") for number, one in enumerate(keys.tables(whole, "workload", path))
    )
    name = path.rpartition("/")[2].removesuffix(".toml")
    scenario = keys.read(Scenario, whole, path, "", name=name, machine=machine, workload=workloads)
    _check(scenario, path)
    return scenario


def _workload(table: dict[str, Any], path: str, where: str) -> Workload:
    lives = tuple(
        keys.read(Life, one, path, f"{where}life[{number}].")
        for number, one in enumerate(keys.tables(table, "life", path))
    )
    return keys.read(Workload, table, path, where, life=lives)


def _check(scenario: Scenario, path: str) -> None:
    machine = scenario.machine
    if not machine.nodes or not machine.cores_per_node or machine.threads_per_core not in (1, 2):
        raise ScenarioError(f"{path}: machine: needs a socket, a node and cores with one or two threads")
    if any(not -1 <= node < machine.nodes for node in machine.gpus):
        raise ScenarioError(f"{path}: machine.gpus: nodes are 0 to {machine.nodes - 1}, or -1 for unknown")
    for number, workload in enumerate(scenario.workload):
        where = f"{path}: workload[{number}]"
        if any(not 0 <= gpu < len(machine.gpus) for gpu in workload.gpus):
            raise ScenarioError(f"{where}.gpus: the machine has GPUs 0 to {len(machine.gpus) - 1}")
        if not 1 <= workload.threads <= 100:
            raise ScenarioError(f"{where}.threads: expected 1 to 100")
        starts = [life.at for life in workload.life]
        if starts != sorted(set(starts)):
            raise ScenarioError(f"{where}.life: expected one after the other")
        if workload.life and not workload.life[0].restart:
            raise ScenarioError(f"{where}.life[0].restart: what never started cannot live on")
        for life in workload.life:
            if life.bound not in ("", "home", "far"):
                raise ScenarioError(f"{where}.life.bound: expected home or far, found {life.bound!r}")
            for name in ("socket_memory", "remote_memory", "remote_cpu"):
                found = getattr(life, name)
                if len(found) not in (1, len(workload.gpus)):
                    raise ScenarioError(f"{where}.life.{name}: expected one share, or one for each of its GPUs")
