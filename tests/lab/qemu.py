"""The QEMU command line of a topology with devices on its nodes."""

from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from types import MappingProxyType

from tests.lab.kernel import Kernel
from tests.lab.topology import Topology, ids

# An Intel server CPU: for those the kernel knows that a socket can hold several nodes (with QEMU's default it warns).
CPU = "max,la57=off,vendor=GenuineIntel,family=6,model=143,stepping=8"

MACHINE = "q35,sata=off,usb=off,smm=off,vmport=off"

# nothing that waits, calibrates or tests itself: an emulated CPU is slow
BOOT = (
    "console=ttyS0 quiet loglevel=4 panic=-1 nokaslr mitigations=off nowatchdog no_timer_check lpj=8000000 "
    "cryptomgr.notests rcupdate.rcu_expedited=1 random.trust_cpu=on"
)

# A device and the module that drives it. 'nvidia' is an 'edu' device, made a GPU by the stand-in module that init
# loads; 'gpu' is a virtual display with a real DRM driver.
DEVICES = MappingProxyType({"gpu": "virtio_gpu", "net": "virtio_net", "nvidia": None, "nvme": "nvme"})


def command_line(
    topology: Topology,
    kernel: Kernel,
    devices: Iterable[str],
    job: Path,
    initrd: Path,
    append: str,
    *,
    guest: bool = True,
) -> list[str]:
    """The arguments after qemu-system-x86_64.

    Each device sits behind a host bridge of each node: "nvme" on a root port of its own, "nvidia:8" on one with 8
    lanes, the parts of "nvidia/net" together on one PCIe switch. `job` is shared writable, this machine's root
    read-only.
    """
    hmat = any(node.nearest is not None for node in topology.nodes)
    cores = topology.cpus // topology.sockets
    return [
        *("-no-user-config", "-nodefaults", "-no-reboot", "-display", "none"),
        *("-machine", MACHINE + (",hmat=on" if hmat else "")),
        *("-accel", "tcg,thread=multi", "-cpu", CPU if guest else f"{CPU},-hypervisor"),
        *("-smp", f"{topology.cpus},sockets={topology.sockets},cores={cores},threads=1"),
        *("-m", f"{topology.memory_mib}M"),
        *(_numa(topology) if topology.srat else ()),
        *("-kernel", str(kernel.vmlinux), "-initrd", str(initrd), "-append", f"{BOOT} {append}"),
        *("-chardev", f"file,id=console,path={job / 'console'}", "-serial", "chardev:console"),
        *_share("host", "/", "readonly=on,multidevs=remap"),
        *_share("job", str(job), "multidevs=remap"),
        *_buses(topology, tuple(devices)),
    ]


def _share(tag: str, path: str, options: str) -> list[str]:
    where = f"local,id={tag},path={path},security_model=none,{options}"
    return ["-fsdev", where, "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag},bus=pcie.0"]


def _numa(topology: Topology) -> Iterator[str]:
    for number, node in enumerate(topology.nodes):
        where = f"node,nodeid={number}"
        if node.cpus:
            where += "".join(f",cpus={part}" for part in node.cpus.split(","))
        if node.memory_mib:
            yield from ("-object", f"memory-backend-ram,id=memory{number},size={node.memory_mib}M")
            where += f",memdev=memory{number}"
        if node.nearest is not None:
            where += f",initiator={node.nearest}"
        yield from ("-numa", where)
    numbers = range(len(topology.nodes))
    for a, b in ((a, b) for a in numbers for b in numbers if a < b):  # one way only: QEMU mirrors it
        yield from ("-numa", f"dist,src={a},dst={b},val={topology.distance(a, b)}")


def _buses(topology: Topology, devices: tuple[str, ...]) -> Iterator[str]:
    """A host bridge per node with CPUs.

    The last node's comes first: QEMU lists them in reverse in its ACPI tables and Linux numbers devices in that
    order, so nvme0 and GPU 0 are on the first node. bus_nr leaves room for the buses below.
    """
    if not devices:
        return
    serial = count(1)
    for number, node in reversed(list(enumerate(topology.nodes))):
        if not ids(node.cpus):
            continue
        bridge = f"bridge{number}"
        where = f",numa_node={number}" if topology.srat else ""
        yield from ("-device", f"pxb-pcie,id={bridge},bus=pcie.0,bus_nr={0x20 * (number + 1)}{where}")
        for device in devices:
            yield from _place(device, bridge, serial)


def _place(device: str, bridge: str, serial: Iterator[int]) -> Iterator[str]:
    chassis = next(serial)
    port = f"port{chassis}"
    device, _, lanes = device.partition(":")
    width = f",x-width={lanes}" if lanes else ""
    yield from ("-device", f"pcie-root-port,id={port},bus={bridge},chassis={chassis},slot=0,hotplug=off{width}")
    parts = device.split("/")
    if len(parts) == 1:
        yield from _device(device, port, chassis)
        return
    yield from ("-device", f"x3130-upstream,id=switch{chassis},bus={port}")
    for part in parts:
        slot = next(serial)
        below = f"xio3130-downstream,id=port{slot},bus=switch{chassis},chassis={slot},slot=0"
        yield from ("-device", below)
        yield from _device(part, f"port{slot}", slot)


def _device(kind: str, bus: str, number: int) -> list[str]:
    match kind:
        case "gpu":
            return ["-device", f"virtio-gpu-pci,bus={bus}"]
        case "net":
            netdev = ["-netdev", f"hubport,id=net{number},hubid=0"]  # one cable for all
            return [*netdev, "-device", f"virtio-net-pci,netdev=net{number},bus={bus},romfile="]
        case "nvidia":
            return ["-device", f"edu,bus={bus}"]
        case "nvme":
            drive = ["-drive", f"if=none,id=drive{number},driver=null-co,read-zeroes=on,size=64M"]
            return [*drive, "-device", f"nvme,serial=lab{number},drive=drive{number},bus={bus}"]
    raise ValueError(f"no such device: {kind} (there are {', '.join(DEVICES)})")
