"""NICs, RDMA devices, NVMe controllers and GPUs as PCI functions, with the interrupts that they fired.

/sys/class/{net,infiniband,nvme}/*/device, /sys/bus/pci/devices/*/{msi_irqs,irq} and /proc/interrupts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from numa_exporter.formats import interrupts, number
from numa_exporter.formats.interrupts import Interrupts
from numa_exporter.formats.pci_address import PciAddress
from numa_exporter.model.machine import Device, Devices
from numa_exporter.model.sample import Sample
from numa_exporter.sources import pci
from numa_exporter.sources.host import Host
from numa_exporter.sources.look import Look
from numa_exporter.sources.source import Outcome

_CLASSES = (("net", "nic"), ("infiniband", "rdma"), ("nvme", "nvme"))
_INTERRUPTS = "/proc/interrupts"


class DevicesReader:
    """Reader of Devices. GPUs are those of the sample, by their UUID."""

    def read(self, host: Host, sample: Sample) -> Outcome[Devices]:
        look = Look(host)
        now = host.now("devices")
        devices = [*_devices(look), *_gpus(sample)]
        lines = {device.function.address: interrupt_lines(look, device.function.address) for device in devices}
        rows = frozenset().union(*lines.values())
        fired = look.file(_INTERRUPTS, lambda data, path: interrupts.parse(data, path, rows)) if rows else None
        value = Devices(
            devices=tuple(
                replace(device, interrupts=_by_cpu(fired, lines[device.function.address])) for device in devices
            ),
            read_at=now.wall,
        )
        return Outcome(value=value, failure=look.failure, counts=look.failures.counts)


def _devices(look: Look) -> Iterator[Device]:
    """Physical functions only: a virtual one is somebody's share of a device that is listed already."""
    for folder, device_class in _CLASSES:
        for name in look.names(f"/sys/class/{folder}"):
            real_path = look.real(f"/sys/class/{folder}/{name}/device")
            address = pci.function_of(real_path) if real_path else None
            if address is None or pci.is_virtual_function(look, address):
                continue
            function = pci.read_function(look, address)
            if function is not None:
                yield Device(name=name, device_class=device_class, function=function)


def _gpus(sample: Sample) -> Iterator[Device]:
    for gpu in sample.gpus.gpus if sample.gpus else ():
        if gpu.function is not None:
            yield Device(name=gpu.uuid, device_class="gpu", function=gpu.function)


def interrupt_lines(look: Look, address: PciAddress) -> frozenset[str]:
    """Rows of /proc/interrupts: a function's message-signalled interrupts, else its pin (0 = none)."""
    folder = f"{pci.DEVICES}/{address.sysfs}"
    messages = look.names(f"{folder}/msi_irqs")
    if messages:
        return frozenset(messages)
    line = look.file(f"{folder}/irq", number.parse)
    return frozenset({str(line)}) if line else frozenset()


def _by_cpu(fired: Interrupts | None, lines: frozenset[str]) -> Mapping[int, int] | None:
    """Counts by CPU since boot; None where there is nothing to count. A line that no driver asked for has no row."""
    if fired is None or not lines:
        return None
    rows = [fired.fired[line] for line in sorted(lines) if line in fired.fired]
    return {cpu: sum(row[column] for row in rows) for column, cpu in enumerate(fired.cpus)}
