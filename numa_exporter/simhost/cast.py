"""Who lives on a simulated machine, and when: pods and units, life by life, with their processes and threads."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from numa_exporter.formats import idlist
from numa_exporter.simhost.layout import Layout
from numa_exporter.simhost.names import Names
from numa_exporter.simhost.scenario import Life, Scenario, Workload
from numa_exporter.simhost.task import Task

DOWNTIME = 20.0
"""Seconds between the end of a pod and the start of the one that replaces it."""
EXPORTER_PID = 3900
FIRST_WORKLOAD_PID = 20_000
PIDS_A_LIFE = 2_000
PIDS_A_PROCESS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Incarnation:
    """One life of a workload: its names, cgroup and processes, from ``began`` to ``ended``. ``granted``: the CPUs that
    the kubelet promised to it alone when it started."""

    workload: Workload
    life: Life
    began: float
    ended: float
    pod: str
    pod_uid: str
    container_id: str
    cgroup: str
    cpus: tuple[int, ...]
    granted: tuple[int, ...]
    tasks: tuple[Task, ...]

    def alive(self, now: float) -> bool:
        return self.began <= now < self.ended


class Cast:
    """Everybody of a scenario."""

    def __init__(self, scenario: Scenario, layout: Layout, names: Names) -> None:
        self._scenario = scenario
        self._layout = layout
        self._names = names

    @cached_property
    def incarnations(self) -> tuple[Incarnation, ...]:
        return tuple(
            self._incarnation(number, workload, turn)
            for number, workload in enumerate(self._scenario.workload)
            for turn in range(len(workload.life))
        )

    @cached_property
    def shared_cpus(self) -> tuple[int, ...]:
        """The CPUs that no Guaranteed pod owns."""
        owned = {
            cpu for workload in self._scenario.workload for life in workload.life for cpu in self._grant(workload, life)
        }
        return tuple(cpu for cpu in self._layout.cpus if cpu not in owned)

    @cached_property
    def observers(self) -> tuple[Task, ...]:
        """Those that hold the devices open and compute nothing, the exporter first."""
        everywhere = tuple(self._layout.cpus)
        comms = ("numa-exporter", *self._scenario.machine.observers)
        return tuple(
            Task(
                pid=EXPORTER_PID + number,
                parent=1,
                comm=comm,
                started=-30 * 86400.0,
                cgroup=f"/system.slice/{comm}.service",
                allowed=everywhere,
                nodes=tuple(self._layout.nodes),
                threads=2,
                cores=0.02,
                opened=() if comm == "numa-exporter" else self._devices(),
            )
            for number, comm in enumerate(comms)
        )

    def alive(self, now: float) -> Iterator[Incarnation]:
        return (one for one in self.incarnations if one.alive(now))

    def tasks(self, now: float) -> Iterator[Task]:
        """Every process that there is, observers first."""
        yield from self.observers
        for one in self.alive(now):
            yield from (task for task in one.tasks if task.started <= now)

    def busy_seconds(self, node: int, now: float) -> float:
        """CPU seconds that all workloads spent on a node so far, those that ended included."""
        return sum(
            task.thread_seconds(number, min(now, one.ended)) - task.thread_seconds(number, one.began)
            for one in self.incarnations
            if one.began <= now
            for task in one.tasks
            for number in range(task.busy)
            if task.node_of_thread(number) == node
        )

    def _devices(self, *gpus: int) -> tuple[str, ...]:
        numbers = gpus or range(len(self._layout.gpus))
        return ("nvidiactl", "nvidia-uvm", *(f"nvidia{number}" for number in numbers))

    def _incarnation(self, number: int, workload: Workload, turn: int) -> Incarnation:
        life = workload.life[turn]
        after = math.inf
        if turn + 1 < len(workload.life):
            then = workload.life[turn + 1]
            after = then.at - DOWNTIME if then.restart else then.at
        # Who was not restarted keeps the names, PIDs and start times of the life in which it was started.
        turn = max(other for other in range(turn + 1) if workload.life[other].restart)
        started = workload.life[turn].at
        words = (workload.namespace, workload.name, workload.unit)
        uid = self._names.uuid("pod", *words, turn)
        container = self._names.digest("container", *words, turn)
        cgroup = f"/system.slice/{workload.unit}" if workload.unit else _pod_cgroup(workload.qos, uid, container)
        cpus = self._cpus(life.cpus, workload)
        first = FIRST_WORKLOAD_PID + PIDS_A_LIFE * (16 * number + turn)
        server = Task(
            pid=first,
            parent=1,
            comm=workload.server,
            started=started,
            cgroup=cgroup,
            allowed=cpus,
            nodes=self._nodes(cpus),
            threads=8,
            cores=0.4,
            private=600 << 20,
            phase=float(number),
        )
        ranks = tuple(self._rank(workload, life, server, order, cpus) for order in range(len(workload.gpus)))
        return Incarnation(
            workload=workload,
            life=life,
            began=life.at,
            ended=min(after, math.inf if life.until is None else life.until),
            pod=self._pod(workload, turn),
            pod_uid=uid,
            container_id=container,
            cgroup=cgroup,
            cpus=cpus,
            granted=self._grant(workload, workload.life[turn]),
            tasks=(server, *ranks),
        )

    def _rank(self, workload: Workload, life: Life, server: Task, order: int, cpus: tuple[int, ...]) -> Task:
        gpu = workload.gpus[order]
        home = max(0, self._layout.gpus[gpu].node)
        far = self._layout.far(home)
        bound = {"home": home, "far": far}.get(life.bound)
        allowed = cpus if bound is None else tuple(cpu for cpu in self._layout.cpus_of(bound) if cpu in set(cpus))
        reach = self._nodes(allowed)
        # Whoever may not run at home runs where it may; whoever may run nowhere else is never remote.
        nodes = tuple(node for node in (home, far) if node in reach) or reach[:1]
        return Task(
            pid=server.pid + PIDS_A_PROCESS * (order + 1),
            parent=server.pid,
            comm=f"{workload.worker}_TP{order}"[:15] if len(workload.gpus) > 1 else workload.worker[:15],
            started=server.started + 6 + order,
            cgroup=server.cgroup,
            allowed=allowed,
            nodes=nodes,
            threads=workload.threads,
            cores=workload.cores,
            gpu=gpu,
            home=home,
            near=self._layout.near(home),
            far=far,
            gpu_memory=workload.gpu_memory,
            private=workload.memory,
            pinned=workload.pinned,
            socket_memory=_of(life.socket_memory, order) if bound is None else 0.0,
            remote_memory=_of(life.remote_memory, order) if bound is None else float(bound != home),
            remote_cpu=_of(life.remote_cpu, order),
            policy="default" if bound is None else f"bind:{bound}",
            opened=self._devices(gpu),
            phase=float(gpu),
        )

    def _cpus(self, text: str, workload: Workload) -> tuple[int, ...]:
        """A cpuset by its word; what a pod was not granted comes out of the shared pool."""
        if text not in ("all", "home", "far"):
            return tuple(sorted(idlist.parse(text.encode(), "scenario")))
        homes = {max(0, self._layout.gpus[gpu].node) for gpu in workload.gpus}
        nodes = {"home": homes, "far": {self._layout.far(home) for home in homes}}.get(text, self._layout.nodes)
        cpus = sorted(cpu for node in nodes for cpu in self._layout.cpus_of(node))
        if workload.unit or (workload.qos == "guaranteed" and text != "all"):
            return tuple(cpus)
        shared = frozenset(self.shared_cpus)
        return tuple(cpu for cpu in cpus if cpu in shared)

    def _grant(self, workload: Workload, life: Life) -> tuple[int, ...]:
        """Exclusive CPUs, where a kubelet could give any."""
        exclusive = workload.qos == "guaranteed" and not workload.unit and life.cpus != "all" and life.restart
        return self._cpus(life.cpus, workload) if exclusive and self._scenario.machine.kubelet else ()

    def _nodes(self, cpus: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted({self._layout.node_of(cpu) for cpu in cpus}))

    def _pod(self, workload: Workload, turn: int) -> str:
        if workload.owner == "StatefulSet":
            return f"{workload.name}-0"
        words = workload.namespace, workload.name
        return f"{workload.name}-{self._names.suffix(9, *words)}-{self._names.suffix(5, *words, turn)}"


def _of(shares: Sequence[float], order: int) -> float:
    return shares[order] if len(shares) > 1 else shares[0]


def _pod_cgroup(qos: str, uid: str, container: str) -> str:
    """As the kubelet's systemd driver and containerd name it; Guaranteed pods have no level of their own."""
    level = "" if qos == "guaranteed" else f"-{qos}"
    above = f"/kubepods.slice/kubepods{level}.slice" if level else "/kubepods.slice"
    pod = f"{above}/kubepods{level}-pod{uid.replace('-', '_')}.slice"
    return f"{pod}/cri-containerd-{container}.scope"
