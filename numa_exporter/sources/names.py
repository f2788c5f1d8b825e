"""Names of pods, containers and jobs, from files that lie on the host: no API server.

For pods the kubelet's log directories, whose names hold everything; then the runtime's own description of a container,
which says what its CRI socket would say without being the right to start one. That socket is asked last, and only where
a person said so (--kubelet.cri-socket). Docker, podman and Slurm by their own files and variables. Each is asked until
it has answered; an id never changes its name.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from numa_exporter.formats import cri, pod_logs
from numa_exporter.formats.pod_logs import ContainerLink, PodDirectory
from numa_exporter.formats.workload_path import WorkloadPath
from numa_exporter.model.health import Failure
from numa_exporter.model.ids import ProcessKey
from numa_exporter.model.names import ContainerName, Names, PodName
from numa_exporter.model.sample import Sample
from numa_exporter.sources import runtime_files
from numa_exporter.sources.guard import Guard
from numa_exporter.sources.host import Host, HostError
from numa_exporter.sources.look import Look
from numa_exporter.sources.runtime_files import USER
from numa_exporter.sources.source import Outcome

PODS = "/var/log/pods"
LINKS = "/var/log/containers"
ENVIRONMENT_DEADLINE = 2.0
_SLUID = re.compile(r"s[0-9A-Z]{10,}")


class NamesReader:
    """Reader of ``Sample.names``: what it found, it keeps for as long as the container lives."""

    def __init__(self, *, asks_runtime: bool = False) -> None:
        self._asks_runtime = asks_runtime
        self._strangers: set[str] = set()
        self._containers: dict[str, ContainerName] = {}
        self._sandboxes: set[str] = set()
        self._runtimes: dict[str, str] = {}
        self._units: dict[str, str] = {}
        self._jobs: dict[str, str] = {}
        self._guard = Guard(ENVIRONMENT_DEADLINE)
        self._has_named = False

    def read(self, host: Host, sample: Sample) -> Outcome[Names]:
        look = Look(host)
        processes = sample.processes.processes if sample.processes else ()
        owners = {process.cgroup: process.key for process in processes if process.cgroup}
        pods = dict(pods_of(look))
        self._forget(owners)
        self._name_containers(look, pods, owners)
        failure = self._ask_runtime(look, owners) if self._asks_runtime else None
        self._name_units(look, owners)
        self._name_jobs(look, owners)
        value = Names(
            pods={uid: PodName(namespace=pod.namespace, pod=pod.pod) for uid, pod in pods.items()},
            containers=dict(self._containers),
            sandboxes=frozenset(self._sandboxes),
            runtimes=dict(self._runtimes),
            units=dict(self._units),
            slurm_jobs=dict(self._jobs),
        )
        failure = look.failure or failure
        self._has_named |= value != Names()
        # Where something was named once, nothing to name is an answer: the last container or job has ended.
        if not self._has_named and failure is None:
            raise HostError("absent", PODS, "no pods, and no container or job whose name lies on this host")
        return Outcome(value=value, failure=failure, counts=look.failures.counts)

    def _forget(self, owners: Mapping[WorkloadPath, ProcessKey]) -> None:
        living = {path.container_id for path in owners}
        self._sandboxes = {key for key in self._sandboxes if key in living}
        self._strangers = {key for key in self._strangers if key in living}
        self._runtimes = {key: name for key, name in self._runtimes.items() if key in living}
        jobs = {path.slurm_job_id for path in owners}
        self._containers = {key: name for key, name in self._containers.items() if key in living}
        self._units = {key: name for key, name in self._units.items() if key in living}
        self._jobs = {key: name for key, name in self._jobs.items() if key in jobs}
        self._guard.keep(owners.values())

    def _name_containers(self, look: Look, pods: Mapping[str, PodDirectory], paths: Iterable[WorkloadPath]) -> None:
        """The link beside the log names all; then the runtime's own files; a pod with a single container needs neither.
        Those files are also read where the cgroup's path does not tell the runtime (the cgroupfs driver)."""
        in_pods = {path.container_id: path for path in paths if path.kind == "k8s-container" and path.container_id}
        if unnamed := in_pods.keys() - self._named:
            for link in _links(look):
                if link.container_id in unnamed:
                    name = ContainerName(namespace=link.namespace, pod=link.pod, container=link.container)
                    self._containers[link.container_id] = name
        for container_id, path in in_pods.items():
            if container_id not in self._named or (path.runtime is None and container_id not in self._runtimes):
                self._read_bundle(look, container_id)
            if container_id not in self._named and (only := _only_container(look, pods.get(path.pod_uid or ""))):
                self._containers[container_id] = only

    @property
    def _named(self) -> frozenset[str]:
        return frozenset(self._containers) | self._sandboxes

    def _read_bundle(self, look: Look, container_id: str) -> None:
        bundle = runtime_files.bundle(look, container_id)
        if bundle is None:
            return
        self._runtimes[container_id] = bundle.runtime
        if bundle.name is None:
            self._sandboxes.add(container_id)
        else:
            self._containers.setdefault(container_id, bundle.name)

    def _ask_runtime(self, look: Look, paths: Iterable[WorkloadPath]) -> Failure | None:
        """One question for each container that is left without a name: a runtime lists a container before it runs, so
        one that it does not know it never will. A refusal is told, ``absent`` too: a person said that it is there."""
        ids = {path.container_id for path in paths if path.kind == "k8s-container"} - self._named - self._strangers
        for container_id in sorted(filter(None, ids)):
            try:
                name = _labelled(look.host.container_labels(container_id))
            except HostError as error:
                look.failures.add(error)
                return error.failure()
            if name is None:
                self._strangers.add(container_id)
            else:
                self._containers[container_id] = name
        return None

    def _name_units(self, look: Look, paths: Iterable[WorkloadPath]) -> None:
        for path in paths:
            container_id = path.container_id
            if path.kind != "container" or container_id is None or container_id in self._units:
                continue
            name = None
            if path.runtime == "docker":
                name = runtime_files.docker_name(look, path, container_id)
            elif path.runtime == "podman":
                name = runtime_files.podman_name(look, path, container_id)
            if name:
                self._units[container_id] = f"{_user(path)}{path.runtime}/{name}"

    def _name_jobs(self, look: Look, owners: Mapping[WorkloadPath, ProcessKey]) -> None:
        """The job behind a SLUID stands in its processes' environment. Reading that takes the process's mmap lock, so
        it is read until one has told, and with a deadline."""
        refused: set[str] = set()
        for path, key in owners.items():
            sluid = path.slurm_job_id
            if sluid is None or not _SLUID.fullmatch(sluid) or sluid in self._jobs or sluid in refused:
                continue
            try:
                job = self._job_of(look.host, key)
            except HostError as error:
                look.failures.add(error)
                refused.add(sluid)
                continue
            if job and job.isdecimal():
                self._jobs[sluid] = job

    def _job_of(self, host: Host, key: ProcessKey) -> str | None:
        path = f"/proc/{key.pid}/environ"
        return self._guard.run(host, key, path, lambda: host.environment(key.pid, "SLURM_JOB_ID"))


def _user(path: WorkloadPath) -> str:
    """The user whose podman it is: names are unique for one user only. Nothing for root's."""
    match = USER.search(path.path)
    return f"user@{match[1]}/" if match else ""


def pods_of(look: Look) -> Iterator[tuple[str, PodDirectory]]:
    """Every pod that has a log directory, by UID in lower case."""
    for name in look.names(PODS):
        pod = pod_logs.parse_directory(name)
        if pod:
            yield pod.uid.lower(), pod


def _links(look: Look) -> Iterator[ContainerLink]:
    for name in look.names(LINKS):
        link = pod_logs.parse_link(name)
        if link:
            yield link


def _only_container(look: Look, pod: PodDirectory | None) -> ContainerName | None:
    if pod is None:
        return None
    containers = look.names(f"{PODS}/{pod.namespace}_{pod.pod}_{pod.uid}")
    if len(containers) != 1:
        return None
    return ContainerName(namespace=pod.namespace, pod=pod.pod, container=containers[0])


def _labelled(labels: Mapping[str, str]) -> ContainerName | None:
    if not all(label in labels for label in (cri.NAMESPACE, cri.POD, cri.CONTAINER)):
        return None
    return ContainerName(namespace=labels[cri.NAMESPACE], pod=labels[cri.POD], container=labels[cri.CONTAINER])
