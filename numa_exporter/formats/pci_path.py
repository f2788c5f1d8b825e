"""How near two PCI functions are, from the real paths of their sysfs directories.

Documentation/PCI/sysfs-pci.rst: the path is the tree itself, host bridge first::

    /sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:00.0/0000:83:00.0
    /sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:04.0/0000:84:00.0     PIX to the first
    /sys/devices/pci0000:80/0000:80:03.0/0000:90:00.0                               PHB to the first
    /sys/devices/pci0000:00/0000:00:1c.4/0000:03:00.0                               NODE or SYS

The words are nvidia-smi's (``topo -m``): ``X`` the same function, ``PIX`` at most one switch between them,
``PXB`` several, ``PHB`` one host bridge, ``NODE`` host bridges of one NUMA node, ``SYS`` across nodes.
NVLink and C2C are not in this tree, and a virtual machine's tree is an invention of its hypervisor.
"""

import re
from functools import lru_cache
from typing import Literal

from numa_exporter.formats import pci_address

PathClass = Literal["X", "PIX", "PXB", "PHB", "NODE", "SYS"]

_HOST_BRIDGE = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
# Below one switch a function hangs at most this deep: the downstream port, then the function itself.
_ONE_SWITCH = 2


@lru_cache(maxsize=1024)
def components(real_path: str) -> tuple[str, ...]:
    """Host bridges and functions of a real path, outermost first; other components are left out."""
    return tuple(
        part for part in real_path.split("/") if _HOST_BRIDGE.fullmatch(part) or pci_address.parse(part) is not None
    )


def path_class(a: str, b: str, node_a: int | None, node_b: int | None) -> PathClass | None:
    """Class of the path between the functions with these real paths and NUMA nodes.

    None where it cannot be told: a path without PCI components, or two host bridges and an unknown node.
    """
    return class_between(components(a), components(b), node_a, node_b)


def class_between(
    tree_a: tuple[str, ...], tree_b: tuple[str, ...], node_a: int | None, node_b: int | None
) -> PathClass | None:
    """The same for the components of two paths: a machine has hundreds of pairs of a few dozen functions."""
    if not tree_a or not tree_b:
        return None
    if tree_a == tree_b:
        return "X"
    common = _common_prefix(tree_a, tree_b)
    if common == 0:
        if node_a is None or node_b is None:
            return None
        return "NODE" if node_a == node_b else "SYS"
    if common == 1:
        return "PHB"
    deepest = max(len(tree_a), len(tree_b)) - common
    return "PIX" if deepest <= _ONE_SWITCH else "PXB"


def _common_prefix(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    for depth, (left, right) in enumerate(zip(a, b, strict=False)):
        if left != right:
            return depth
    return min(len(a), len(b))
