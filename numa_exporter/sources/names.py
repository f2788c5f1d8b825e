"""Names of pods, containers and jobs, from files that lie on the host: no API server, no runtime's socket.

For pods the kubelet's log directories, whose names hold everything; last the runtime's own description of a
container, which says what its CRI socket would say without being the right to start one. Docker, podman and Slurm
by their own files and variables. Each is asked until it has answered; an id never changes its name.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from numa_exporter.formats import pod_logs, podman_containers
from numa_exporter.formats.pod_logs import ContainerLink, PodDirectory
from numa_exporter.formats.workload_path import WorkloadPath
from numa_exporter.model.ids import ProcessKey
from numa_exporter.model.names import ContainerName, Names, PodName
from numa_exporter.model.sample import Sample
from numa_exporter.sources.guard import Guard
from numa_exporter.sources.host import Host, HostError
from numa_exporter.sources.look import Look
from numa_exporter.sources.source import Outcome

PODS = "/var/log/pods"
LINKS = "/var/log/containers"
ENVIRONMENT_DEADLINE = 2.0
_SLUID = re.compile(r"s[0-9A-Z]{10,}")
_BUNDLES = (
    # containerd's bundle of a CRI container, and CRI-O's: both carry what the kubelet asked for as annotations.
    (
        "/run/containerd/io.containerd.runtime.v2.task/k8s.io/{}/config.json",
        "annotations/io.kubernetes.cri.container-type",
        tuple(
            f"annotations/io.kubernetes.cri.{name}" for name in ("sandbox-namespace", "sandbox-name", "container-name")
        ),
    ),
    (
        "/run/containers/storage/overlay-containers/{}/userdata/config.json",
        "annotations/io.kubernetes.cri-o.ContainerType",
        tuple(f"annotations/io.kubernetes.{name}" for name in ("pod.namespace", "pod.name", "container.name")),
    ),
)


class NamesReader:
    """Reader of ``Sample.names``: what it found, it keeps for as long as the container lives."""

    def __init__(self) -> None:
        self._containers: dict[str, ContainerName] = {}
        self._sandboxes: set[str] = set()
        self._units: dict[str, str] = {}
        self._jobs: dict[str, str] = {}
        self._guard = Guard(ENVIRONMENT_DEADLINE)

    def read(self, host: Host, sample: Sample) -> Outcome[Names]:
        look = Look(host)
        processes = sample.processes.processes if sample.processes else ()
        owners = {process.cgroup: process.key for process in processes if process.cgroup}
        pods = dict(_pods(look))
        self._forget(owners)
        self._name_containers(look, pods, owners)
        self._name_units(look, owners)
        self._name_jobs(look, owners)
        value = Names(
            pods={uid: PodName(namespace=pod.namespace, pod=pod.pod) for uid, pod in pods.items()},
            containers=dict(self._containers),
            sandboxes=frozenset(self._sandboxes),
            units=dict(self._units),
            slurm_jobs=dict(self._jobs),
        )
        if value == Names() and look.failure is None:
            raise HostError("absent", PODS, "no pods, and no container or job whose name lies on this host")
        return Outcome(value=value, failure=look.failure, counts=look.failures.counts)

    def _forget(self, owners: Mapping[WorkloadPath, ProcessKey]) -> None:
        living = {path.container_id for path in owners}
        self._sandboxes = {key for key in self._sandboxes if key in living}
        jobs = {path.slurm_job_id for path in owners}
        self._containers = {key: name for key, name in self._containers.items() if key in living}
        self._units = {key: name for key, name in self._units.items() if key in living}
        self._jobs = {key: name for key, name in self._jobs.items() if key in jobs}
        self._guard.keep(owners.values())

    def _name_containers(self, look: Look, pods: Mapping[str, PodDirectory], paths: Iterable[WorkloadPath]) -> None:
        """The link beside the log names all; then the runtime's bundle; a pod with a single container needs neither."""
        known = self._containers.keys() | self._sandboxes
        wanted = {path for path in paths if path.kind == "k8s-container" and path.container_id not in known}
        links = dict(_links(look)) if wanted else {}
        for path in wanted:
            container_id = path.container_id or ""
            link = links.get(container_id)
            name = link and ContainerName(namespace=link.namespace, pod=link.pod, container=link.container)
            if name is None:
                sandbox, name = _bundled(look, container_id)
                if sandbox:
                    self._sandboxes.add(container_id)
                    continue
            if name := name or _only_container(look, pods.get(path.pod_uid or "")):
                self._containers[container_id] = name

    def _name_units(self, look: Look, paths: Iterable[WorkloadPath]) -> None:
        for path in paths:
            container_id = path.container_id
            if path.kind != "container" or container_id is None or container_id in self._units:
                continue
            name = None
            if path.runtime == "docker":
                name = _docker_name(look, container_id)
            elif path.runtime == "podman":
                name = _podman_name(look, path, container_id)
            if name:
                self._units[container_id] = f"{path.runtime}/{name}"

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


def _pods(look: Look) -> Iterator[tuple[str, PodDirectory]]:
    for name in look.names(PODS):
        pod = pod_logs.parse_directory(name)
        if pod:
            yield pod.uid.lower(), pod


def _links(look: Look) -> Iterator[tuple[str, ContainerLink]]:
    for name in look.names(LINKS):
        link = pod_logs.parse_link(name)
        if link:
            yield link.container_id, link


def _only_container(look: Look, pod: PodDirectory | None) -> ContainerName | None:
    if pod is None:
        return None
    containers = look.names(f"{PODS}/{pod.namespace}_{pod.pod}_{pod.uid}")
    if len(containers) != 1:
        return None
    return ContainerName(namespace=pod.namespace, pod=pod.pod, container=containers[0])


def _bundled(look: Look, container_id: str) -> tuple[bool, ContainerName | None]:
    """Whether it is a sandbox, which nobody gave a name; else its name, if a runtime's bundle tells it."""
    for path, kind, members in _BUNDLES:
        found = look.attempt(partial(look.host.pick, path.format(container_id), kind, *members)) or {}
        if found.get(kind) == "sandbox":
            return True, None
        if all(member in found for member in members):
            namespace, pod, container = (found[member] for member in members)
            return False, ContainerName(namespace=namespace, pod=pod, container=container)
    return False, None


def _docker_name(look: Look, container_id: str) -> str | None:
    moved = look.attempt(lambda: look.host.pick("/etc/docker/daemon.json", "data-root")) or {}
    root = moved.get("data-root", "/var/lib/docker").rstrip("/")
    found = look.attempt(lambda: look.host.pick(f"{root}/containers/{container_id}/config.v2.json", "Name")) or {}
    return found.get("Name", "").lstrip("/") or None


def _podman_name(look: Look, path: WorkloadPath, container_id: str) -> str | None:
    root = _podman_root(look, path)
    for name in ("containers.json", "volatile-containers.json"):
        found = look.file(f"{root}/overlay-containers/{name}", podman_containers.parse) if root else None
        if found and container_id in found:
            return found[container_id]
    return None


def _podman_root(look: Look, path: WorkloadPath) -> str | None:
    """Root's storage, or that of the user in whose slice the container runs."""
    user = re.search(r"/user-([0-9]+)\.slice/", path.path)
    if user is None:
        return "/var/lib/containers/storage"
    home = look.file("/etc/passwd", lambda data, _: _home(data, user[1]))
    return home and f"{home}/.local/share/containers/storage"


def _home(passwd: bytes, uid: str) -> str | None:
    """passwd(5): name:password:UID:GID:comment:home:shell."""
    rows = (line.split(":") for line in passwd.decode("utf-8", "surrogateescape").splitlines())
    return next((row[5] for row in rows if len(row) > 6 and row[2] == uid), None)
