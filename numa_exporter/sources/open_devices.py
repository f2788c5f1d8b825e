"""Which GPU devices a process has open, by the device numbers behind its descriptors.

st_rdev holds across mount namespaces and renamed nodes, and costs less than readlink. CUDA opens every visible GPU,
so an open device means "may use". Scanning a whole host (31,000 descriptors: 130 ms) is spread over many looks.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from numa_exporter.formats import drm_fdinfo, pci_address, proc_devices
from numa_exporter.formats.drm_fdinfo import DrmClient
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.formats.pci_address import PciAddress
from numa_exporter.model.ids import ProcessKey
from numa_exporter.sources.guard import Guard
from numa_exporter.sources.host import Host, HostError

NVIDIA_MAJOR = 195
DRM_MAJOR = 226
ACCEL_MAJOR = 261
FIRST_CONTROL_MINOR = 254
"""Minors of NVIDIA's major from here on are modeset and nvidiactl, no GPU (nv-chardev-numbers.h)."""
FIRST_RENDER_MINOR = 128
DESCRIPTORS_A_LOOK = 4_096
"""About 20 ms of CPU time."""
DESCRIPTORS_A_PROCESS = 4_096
"""A GPU's descriptors are among a process's first; a server's hundred thousand sockets come later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrmHandle:
    """An open DRM node. ``client`` is None where the driver's fdinfo could not be read."""

    minor: int
    client: DrmClient | None

    @property
    def render(self) -> bool:
        return self.minor >= FIRST_RENDER_MINOR


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDevices:
    """``nvidia`` and ``accel`` hold minors, ``compute`` is true where nvidia-uvm or kfd is open, ``vfio``
    holds the functions of open groups. ``error`` says why the descriptors could not be seen."""

    nvidia: frozenset[int] = frozenset()
    accel: frozenset[int] = frozenset()
    compute: bool = False
    drm: tuple[DrmHandle, ...] = ()
    vfio: frozenset[PciAddress] = frozenset()
    error: HostError | None = None


NOTHING_OPEN = OpenDevices()
_VANISHED = ("gone", "absent")


class DescriptorScan:
    """Scans processes in rotation, new ones first. ``budget`` is in descriptors a look; None scans everything."""

    def __init__(self, guard: Guard, budget: int | None = DESCRIPTORS_A_LOOK) -> None:
        self._guard = guard
        self._budget = budget
        self._look = 0
        self._found: dict[ProcessKey, tuple[int, OpenDevices]] = {}

    def of(self, key: ProcessKey) -> OpenDevices:
        """What the last scan of a process found; nothing where it had no turn yet."""
        return self._found[key][1] if key in self._found else NOTHING_OPEN

    @property
    def error(self) -> HostError | None:
        """Why the descriptors of some process could not be seen."""
        return next((found.error for _, found in self._found.values() if found.error), None)

    def scan(self, host: Host, processes: Collection[ProcessKey]) -> list[HostError]:
        """One look's share of the processes, answering its errors; those not named are forgotten. A stuck one ends
        the look: with a dead file server there may be many, and each costs a deadline."""
        self._look += 1
        alive = set(processes)
        self._guard.keep(alive)
        self._found = {key: found for key, found in self._found.items() if key in alive}
        majors = _majors(host)
        errors: list[HostError] = []
        left = self._budget
        for key in sorted(alive, key=self._turn):
            if left is not None and left <= 0:
                break
            if self._guard.quarantined(key):
                continue
            seen = self._scan_process(host, key, majors)
            self._found[key] = (self._look, seen.devices)
            if seen.error is not None:
                errors.append(seen.error)
                if seen.error.word == "stuck":
                    break
            left = None if left is None else left - 1 - seen.descriptors
        return errors

    def _turn(self, key: ProcessKey) -> tuple[int, int, int]:
        """Those never scanned first, the youngest of them before the others; then the one scanned longest ago."""
        last = self._found[key][0] if key in self._found else 0
        return last, -key.start_ticks, key.pid

    def _scan_process(self, host: Host, key: ProcessKey, majors: Mapping[int, str]) -> "_Scan":
        scan = _Scan(host=host, pid=key.pid, majors=majors)
        try:
            # Guarded: stat of a file on a dead NFS server never returns.
            self._guard.run(host, key, f"/proc/{key.pid}/fd", scan.run)
        except HostError as error:
            if error.word == "stuck":  # its thread still holds the old one
                scan = _Scan(host=host, pid=key.pid, majors=majors)
            scan.error = None if error.word in _VANISHED else explain(error)
        return scan


@dataclass(slots=True, kw_only=True)
class _Scan:
    """One pass over /proc/PID/fd."""

    host: Host
    pid: int
    majors: Mapping[int, str]
    descriptors: int = 0
    nvidia: set[int] = field(default_factory=set)
    accel: set[int] = field(default_factory=set)
    compute: bool = False
    drm: list[DrmHandle] = field(default_factory=list)
    vfio: set[PciAddress] = field(default_factory=set)
    error: HostError | None = None

    @property
    def devices(self) -> OpenDevices:
        return OpenDevices(
            nvidia=frozenset(self.nvidia),
            accel=frozenset(self.accel),
            compute=self.compute,
            drm=tuple(self.drm),
            vfio=frozenset(self.vfio),
            error=self.error,
        )

    def run(self) -> None:
        names = sorted(self.host.list(f"/proc/{self.pid}/fd"), key=int)[:DESCRIPTORS_A_PROCESS]
        self.descriptors = len(names)
        for name in names:
            try:
                number = self.host.device_number(f"/proc/{self.pid}/fd/{name}")
            except HostError as error:
                if error.word not in _VANISHED:
                    raise
                continue  # closed since it was listed
            if number is not None and number[0] in self.majors:
                self._note(name, *number)

    def _note(self, name: str, major: int, minor: int) -> None:
        driver = self.majors[major]
        if driver == "nvidia":
            if minor < FIRST_CONTROL_MINOR:
                self.nvidia.add(minor)
        elif driver == "accel":
            self.accel.add(minor)
        elif driver == "drm":
            self.drm.append(DrmHandle(minor=minor, client=self._client(name)))
        elif driver == "vfio":
            self.vfio.update(_group_functions(self.host, major, minor))
        else:
            self.compute = True

    def _client(self, name: str) -> DrmClient | None:
        path = f"/proc/{self.pid}/fdinfo/{name}"
        try:
            return drm_fdinfo.parse(self.host.read(path), path)
        except (HostError, ParseError):
            return None  # the open node itself is evidence enough


def explain(error: HostError) -> HostError:
    """A refusal with the capability that would lift it. Listing needs the directory's mode, stat a ptrace check."""
    if error.word != "denied":
        return error
    listing = error.path.endswith("/fd")
    needs = "CAP_DAC_READ_SEARCH" if listing else "CAP_SYS_PTRACE"
    return HostError("denied", error.path, f"{error.detail}; descriptors of other users' processes need {needs}")


def _majors(host: Host) -> dict[int, str]:
    """Major number to what it means here: nvidia, drm, vfio or compute."""
    majors = {NVIDIA_MAJOR: "nvidia", DRM_MAJOR: "drm", ACCEL_MAJOR: "accel"}
    try:
        names = proc_devices.parse_character(host.read("/proc/devices"), "/proc/devices")
    except HostError:
        return majors
    meanings = {"nvidia-uvm": "compute", "kfd": "compute", "vfio": "vfio"}
    return majors | {names[name]: meaning for name, meaning in meanings.items() if name in names}


def _group_functions(host: Host, major: int, minor: int) -> Sequence[PciAddress]:
    """PCI functions of the VFIO group behind a device number: /sys/dev/char tells the group's number."""
    try:
        group = host.realpath(f"/sys/dev/char/{major}:{minor}").rpartition("/")[2]
        names = host.list(f"/sys/kernel/iommu_groups/{group}/devices")
    except HostError:
        return ()
    addresses = (pci_address.parse(name) for name in names)
    return [address for address in addresses if address is not None]
