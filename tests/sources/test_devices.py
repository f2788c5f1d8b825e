from dataclasses import replace

import pytest

from numa_exporter.model.gpus import Gpu, Gpus
from numa_exporter.model.machine import Device
from numa_exporter.sources import pci
from numa_exporter.sources.devices import DevicesReader
from numa_exporter.sources.look import Look
from tests.fakehost import DENIED, fake_host
from tests.sources.machines import EMPTY, merged, pci_function

PORT = "/sys/devices/pci0000:80/0000:80:01.0"
NIC = f"{PORT}/0000:81:00.0"
VIRTUAL = f"{PORT}/0000:81:00.1"
NVME = "/sys/devices/pci0000:00/0000:00:1d.0/0000:05:00.0"
VIRTIO = "/sys/devices/pci0000:00/0000:00:03.0"
USB = "/sys/devices/pci0000:00/0000:00:14.0"
GPU = "/sys/devices/pci0000:80/0000:80:03.0/0000:8d:00.0"

PARTS = (
    pci_function(PORT, vendor="0x8086", **{"class": "0x060400"}, numa_node="1", max_link_width="8"),
    pci_function(
        NIC,
        vendor="0x15b3",
        numa_node="1",
        **{"class": "0x020700"},
        current_link_width="4",
        max_link_width="16",
        irq="30",
    ),
    pci_function(VIRTUAL, vendor="0x15b3", numa_node="1", **{"class": "0x020700"}),
    pci_function(NVME, vendor="0x144d", numa_node="-1", **{"class": "0x010802"}, irq="31", current_link_width="0"),
    pci_function(VIRTIO, vendor="0x1af4", numa_node="0", **{"class": "0x020000"}, irq="0"),
    pci_function(USB, vendor="0x8086", numa_node="0", **{"class": "0x0c0330"}),
    pci_function(GPU, numa_node="1"),
)
FILES = merged(
    *(files for files, _ in PARTS),
    {
        f"{NIC}/msi_irqs/40": "msix\n",
        f"{NIC}/msi_irqs/41": "msix\n",
        f"{NIC}/iommu_group/type": "DMA-FQ\n",
        "/sys/class/net/lo/mtu": "65536\n",
        "/proc/interrupts": """\
           CPU0       CPU2
 31:          5          6  IO-APIC   nvme0q0
 40:        100          1  PCI-MSI   mlx5_comp0
 41:         10          2  PCI-MSI   mlx5_comp1
 99:       9999       9999  PCI-MSI   other
ERR:          0
""",
    },
)
LINKS = merged(
    *(links for _, links in PARTS),
    {
        f"/sys/bus/pci/devices/{VIRTUAL[-12:]}/physfn": NIC,
        f"/sys/bus/pci/devices/{NIC[-12:]}/driver": "/sys/bus/pci/drivers/mlx5_core",
        "/sys/class/net/ib0/device": NIC,
        "/sys/class/net/ib0v0/device": VIRTUAL,
        "/sys/class/net/eth0/device": f"{VIRTIO}/virtio2",
        "/sys/class/net/usb0/device": f"{USB}/usb1/1-1/1-1:1.0",
        "/sys/class/infiniband/mlx5_0/device": NIC,
        "/sys/class/nvme/nvme0/device": NVME,
        "/sys/class/nvme/nvme1/device": "/sys/devices/virtual/nvme-fabrics/ctl",
    },
)


def devices() -> dict[str, Device]:
    outcome = DevicesReader().read(fake_host(FILES, links=LINKS), EMPTY)
    assert outcome.failure is None
    assert outcome.value is not None
    return {device.name: device for device in outcome.value.devices}


def test_physical_functions_of_three_classes() -> None:
    found = devices()
    assert {name: (device.device_class, device.function.address.sysfs) for name, device in found.items()} == {
        "ib0": ("nic", "0000:81:00.0"),
        "eth0": ("nic", "0000:00:03.0"),
        "mlx5_0": ("rdma", "0000:81:00.0"),
        "nvme0": ("nvme", "0000:05:00.0"),
    }


def test_a_function_says_where_it_hangs_and_how_wide() -> None:
    nic, nvme = devices()["ib0"].function, devices()["nvme0"].function
    assert (nic.vendor, nic.pci_class, nic.numa_node) == (0x15B3, 0x020700, 1)
    assert (nic.link_width, nic.max_link_width, nic.upstream_max_link_width) == (4, 16, 8)
    assert (nic.real_path, nic.iommu, nic.driver) == (NIC, "DMA-FQ", "mlx5_core")
    assert nvme.numa_node is None, "-1 is unknown, never node 0"
    assert nvme.link_width is None, "width 0 is no link"


def test_interrupts_by_cpu() -> None:
    found = devices()
    assert found["ib0"].interrupts == found["mlx5_0"].interrupts == {0: 110, 2: 3}
    assert found["nvme0"].interrupts == {0: 5, 2: 6}
    assert found["eth0"].interrupts is None, "irq 0 is none"


def test_gpus_are_those_of_the_sample() -> None:
    host = fake_host({**FILES, f"{GPU}/irq": "77\n"}, links=LINKS)
    look = Look(host)
    (address,) = [address for address in pci.addresses(look) if address.bus == 0x8D]
    gpu = Gpu(uuid="GPU-1", vendor="nvidia", function=pci.read_function(look, address))
    sample = replace(EMPTY, gpus=Gpus(gpus=(gpu, Gpu(uuid="GPU-2", vendor="nvidia"))))
    value = DevicesReader().read(host, sample).value
    assert value is not None
    (device,) = [device for device in value.devices if device.device_class == "gpu"]
    assert device.name == "GPU-1"
    assert device.interrupts == {0: 0, 2: 0}, "a line that never fired has no row"


@pytest.mark.parametrize(
    ("path", "content", "word"),
    [
        ("/proc/interrupts", "CPU0 CPU2\n 31: 5\n", "garbled"),
        ("/proc/interrupts", DENIED, "denied"),
        (f"/sys/bus/pci/devices/{NIC[-12:]}/irq", DENIED, None),  # not asked: it has messages
        (f"/sys/bus/pci/devices/{NVME[-12:]}/numa_node", "one\n", "garbled"),
    ],
)
def test_a_bad_file_fails_alone(path: str, content: object, word: str | None) -> None:
    outcome = DevicesReader().read(fake_host({**FILES, path: content}, links=LINKS), EMPTY)  # type: ignore[dict-item]
    assert (outcome.failure.word if outcome.failure else None) == word
    assert outcome.value is not None
    assert len(outcome.value.devices) == 4


def test_a_machine_without_pci_has_no_devices() -> None:
    outcome = DevicesReader().read(fake_host({}), EMPTY)
    assert (outcome.value.devices if outcome.value else None, outcome.failure) == ((), None)
