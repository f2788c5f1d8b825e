"""What the kubelet granted: its state files, its configuration, and its PodResources socket, each failing alone.

All below /var/lib/kubelet, or where --kubelet.root says (mode 0700 or 0600: root, or CAP_DAC_READ_SEARCH). The kubelet
writes its state by renaming a finished file, so that a half-written one is garbled rather than to be waited for.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from numa_exporter.formats import kubelet_config, kubelet_flags, kubelet_state, pod_path
from numa_exporter.formats.kubelet_config import KubeletConfig
from numa_exporter.formats.kubelet_flags import KubeletFlags
from numa_exporter.formats.podresources import PodResources
from numa_exporter.model.kubelet import Kubelet
from numa_exporter.model.names import PodName
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import KUBELET_ROOT
from numa_exporter.sources import cgroup_tree
from numa_exporter.sources.cgroup_tree import CgroupTree
from numa_exporter.sources.host import Host, HostError
from numa_exporter.sources.look import Look
from numa_exporter.sources.names import pods_of
from numa_exporter.sources.pod_resources import PodResourcesLook
from numa_exporter.sources.source import Outcome

CONFIGS = (
    "/etc/kubernetes/kubelet/config.json",  # EKS
    "/etc/kubernetes/kubelet/kubelet-config.json",
    "/home/kubernetes/kubelet-config.yaml",  # GKE
)
"""Where the file is where no command line tells and no config.yaml (kubeadm's) lies in the kubelet's folder. Never
kubeadm's /etc/kubernetes/kubelet.conf: that holds a key."""
DEFAULTS = KubeletConfig(
    cpu_manager_policy="none",
    cpu_manager_policy_options={},
    memory_manager_policy="None",
    topology_manager_policy="none",
    topology_manager_scope="container",
    topology_manager_policy_options={},
    reserved_system_cpus=None,
    cgroup_driver=None,
    cgroup_root=None,
)


class KubeletReader:
    """Reader of ``Sample.kubelet``. ``root`` is the kubelet's folder."""

    def __init__(self, root: str = KUBELET_ROOT) -> None:
        self._root = root
        self._api = PodResourcesLook()
        self._tree = CgroupTree(())

    def read(self, host: Host, sample: Sample) -> Outcome[Kubelet]:
        look = Look(host)
        self._tree = cgroup_tree.refreshed(host, self._tree)
        value = Kubelet(
            cpu=look.file(f"{self._root}/cpu_manager_state", kubelet_state.parse_cpu_manager),
            memory=look.file(f"{self._root}/memory_manager_state", kubelet_state.parse_memory_manager),
            devices=look.file(f"{self._root}/device-plugins/kubelet_internal_checkpoint", kubelet_state.parse_devices),
            pods=self._api.pods(look),
            allocatable=self._api.allocatable(look),
        )
        if value == Kubelet():
            if look.failure is None:
                raise HostError("absent", self._root, "no kubelet keeps its state here")
            return Outcome(value=None, failure=look.failure, counts=look.failures.counts)
        config, path = _config(look, self._tree, self._root)
        living = _living(look, self._tree, config)
        pods = self._pods(look, value.pods, living)
        value = replace(value, config=config, config_path=path, living=living, pods=pods)
        return Outcome(value=value, failure=look.failure, counts=look.failures.counts)

    def _pods(
        self, look: Look, listed: tuple[PodResources, ...] | None, living: frozenset[str] | None
    ) -> tuple[PodResources, ...] | None:
        """With those that have a cgroup though List leaves them out."""
        if listed is None or not living:
            return listed
        running = (PodName(namespace=pod.namespace, pod=pod.pod) for uid, pod in pods_of(look) if uid in living)
        return (*listed, *self._api.left_out(look, listed, running))


def _config(look: Look, tree: CgroupTree, root: str) -> tuple[KubeletConfig | None, str | None]:
    """The file, the drop-ins beside it, the flags; with the defaults only where the flags are known. And where it is
    read."""
    command = next(_command_lines(look, tree), None)
    flags = command[1] if command else None
    paths = (flags.config,) if flags and flags.config else (f"{root}/config.yaml", *CONFIGS)
    path, found = next(_files(look, paths), (None, None))
    if command is None or flags is None:
        return found, path
    drop_ins = [f"{flags.config_dir}/{name}" for name in look.names(flags.config_dir)] if flags.config_dir else []
    beside = [config for _, config in _files(look, [name for name in drop_ins if name.endswith(".conf")])]
    return kubelet_config.merged(DEFAULTS, *([found] if found else ()), *beside, flags.settings), path or command[0]


def _files(look: Look, paths: Iterable[str]) -> Iterator[tuple[str, KubeletConfig]]:
    for path in paths:
        config = look.file(path, kubelet_config.parse) if path.startswith("/") else None
        if config is not None:
            yield path, config


def _command_lines(look: Look, tree: CgroupTree) -> Iterator[tuple[str, KubeletFlags]]:
    """Of the kubelet's own unit: a search of all processes would cost more than it tells."""
    hierarchy = tree.controller("name=systemd")
    if hierarchy is None:
        return
    unit = f"{hierarchy.mount_point}/system.slice/kubelet.service/cgroup.procs"
    for pid in look.file(unit, lambda data, _: data.split()) or ():
        path = f"/proc/{int(pid)}/cmdline"
        flags = look.file(path, kubelet_flags.parse)
        if flags is not None:
            yield path, flags


def _living(look: Look, tree: CgroupTree, config: KubeletConfig | None) -> frozenset[str] | None:
    """UIDs of the pods that have a cgroup; None where the pods' cgroups are not found."""
    hierarchy = tree.controller("memory")
    if hierarchy is None:
        return None
    root = config.cgroup_root if config else None
    found: set[str] = set()
    seen = False
    for prefix in dict.fromkeys((root or "/", "/", "/kubelet")):  # kind asks for /kubelet
        for folder in _pod_folders(prefix):
            names = look.names(f"{hierarchy.mount_point.rstrip('/')}/{folder}")
            seen = seen or bool(names)
            pods = (pod_path.innermost([*folder.split("/"), name]) for name in names)
            found |= {pod.uid for pod in pods if pod is not None}
    return frozenset(found) if seen else None


def _pod_folders(root: str) -> Iterator[str]:
    """Where pods' cgroups lie below a cgroupRoot: by the cgroupfs driver, then by systemd's, whose slices repeat the
    names of those above them. One folder for each QoS class but Guaranteed, which has none."""
    parts = [*(part for part in root.split("/") if part), "kubepods"]
    slices = [f"{'-'.join(parts[: at + 1])}.slice" for at in range(len(parts))]
    for qos in ("", "burstable", "besteffort"):
        yield "/".join([*parts, qos]).rstrip("/")
        yield "/".join([*slices, f"{'-'.join(parts)}-{qos}.slice"] if qos else slices)
