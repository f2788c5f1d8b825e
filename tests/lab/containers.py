"""Run in the guest: cgroups shaped as the kubelet and containerd make them, on v2, v1 and hybrid hosts."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
V1 = ("memory", "cpuset", "cpu,cpuacct", "hugetlb")
LOGS = Path("/var/log")
NAMESPACE = "lab"


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container of a pod; the ids are made from the names, so they are the same in every run.

    `cpus` and `mems` are its cpuset, "" for what the pod allows; `qos` is guaranteed, burstable or besteffort.
    """

    pod: str
    name: str = "main"
    qos: str = "burstable"
    cpus: str = ""
    mems: str = ""

    @property
    def uid(self) -> str:
        digits = hashlib.md5(self.pod.encode()).hexdigest()
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    @property
    def id(self) -> str:
        return hashlib.sha256(f"{self.pod}/{self.name}".encode()).hexdigest()

    def systemd_path(self) -> str:
        """Guaranteed pods have no level of their own for the class."""
        level = "" if self.qos == "guaranteed" else f"-{self.qos}"
        folders = ["kubepods.slice", f"kubepods{level}.slice"] if level else ["kubepods.slice"]
        pod = f"kubepods{level}-pod{self.uid.replace('-', '_')}.slice"
        return "/".join([*folders, pod, f"cri-containerd-{self.id}.scope"])

    def cgroupfs_path(self) -> str:
        level = [] if self.qos == "guaranteed" else [self.qos]
        return "/".join(["kubepods", *level, f"pod{self.uid}", self.id])

    def create(self) -> list[Path]:
        """Makes its log, and its directory in every mounted hierarchy; returns those, the one with memory first."""
        self._log()
        if (ROOT / "cgroup.controllers").exists():
            return [self._create_v2(ROOT)]
        found = [self._create_v1(ROOT / name) for name in V1 if (ROOT / name).is_dir()]
        if (ROOT / "unified").is_dir():
            found.append(self._create_v2(ROOT / "unified"))
        return found

    def _log(self) -> None:
        """Where the kubelet keeps it, which tells the names; those of pods have no underscore."""
        pod = self.pod.replace("_", "-")
        log = LOGS / "pods" / f"{NAMESPACE}_{pod}_{self.uid}" / self.name / "0.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch()
        link = LOGS / "containers" / f"{pod}_{NAMESPACE}_{self.name}-{self.id}.log"
        link.parent.mkdir(exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(log)

    def _create_v2(self, root: Path) -> Path:
        folder = root
        for part in self.systemd_path().split("/"):
            parent, folder = folder, folder / part
            if not folder.is_dir():  # each write waits for all CPUs
                controllers = (parent / "cgroup.controllers").read_text().split()
                (parent / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in controllers))
                folder.mkdir()
        self._confine(folder)
        return folder

    def _create_v1(self, root: Path) -> Path:
        folder = root
        for part in self.cgroupfs_path().split("/"):
            parent, folder = folder, folder / part
            folder.mkdir(exist_ok=True)
            for file in ("cpuset.cpus", "cpuset.mems"):  # v1: empty when new, and refuses tasks until they are set
                if (folder / file).exists() and not (folder / file).read_text().strip():
                    (folder / file).write_text((parent / file).read_text())
        self._confine(folder)
        return folder

    def _confine(self, folder: Path) -> None:
        for file, value in (("cpuset.cpus", self.cpus), ("cpuset.mems", self.mems)):
            if value and (folder / file).exists():
                (folder / file).write_text(value)
