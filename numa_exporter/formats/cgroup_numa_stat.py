"""Where the pages that a cgroup is charged for lie: memory.numa_stat (v2 and v1) and hugetlb.SIZE.numa_stat.

Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst, mm/memcontrol.c, mm/hugetlb_cgroup.c.
v2, bytes, the cgroup with all below it::

    anon N0=1629990912 N1=65225723904
    file N0=1892352 N1=37441536
    shmem N0=0 N1=479232
    workingset_refault_anon N0=0 N1=0

v1, *base pages*, by LRU list, the cgroup alone and then with all below it::

    total=44611 N0=32631 N1=7501 N2=1982 N3=2497
    anon=183 N0=17 N1=166 N2=0 N3=0
    hierarchical_anon=46096 N0=12597 N1=18890 N2=283 N3=14326

hugetlb, bytes in both versions, and in neither memory.numa_stat before 7.3::

    total=16777216 N0=0 N1=16777216

Nodes without memory are left out by the kernel; a node that is missing or 0 is no error. Sums by node and the
total are read at different moments and may differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from numa_exporter.formats import number
from numa_exporter.formats.parse_error import ParseError

NodeBytes = Mapping[int, int]
"""Bytes by NUMA node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaStatV2:
    """Bytes by node; None where the kernel does not print the line. ``file`` contains ``shmem``."""

    anon: NodeBytes | None
    file: NodeBytes | None
    shmem: NodeBytes | None
    hugetlb: NodeBytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LruBytes:
    """Bytes by node and LRU list: ``anon`` holds shared memory too, and mlocked pages are ``unevictable`` only."""

    anon: NodeBytes | None
    file: NodeBytes | None
    unevictable: NodeBytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaStatV1:
    """``own`` is the cgroup alone; ``hierarchical`` with all below it, which old kernels can show as 0."""

    own: LruBytes
    hierarchical: LruBytes


def parse_v2(data: bytes, path: str) -> NumaStatV2:
    """memory.numa_stat of a v2 cgroup; raises ParseError on a broken line."""
    lines = _numbers(data, path)
    return NumaStatV2(
        anon=lines.get(b"anon"),
        file=lines.get(b"file"),
        shmem=lines.get(b"shmem"),
        hugetlb=lines.get(b"hugetlb"),
    )


def parse_v1(data: bytes, path: str, page_bytes: int) -> NumaStatV1:
    """memory.numa_stat of a v1 cgroup; ``page_bytes`` is the machine's base page size."""
    lines = _numbers(data, path, unit=page_bytes)

    def lists(prefix: bytes) -> LruBytes:
        return LruBytes(
            anon=lines.get(prefix + b"anon"),
            file=lines.get(prefix + b"file"),
            unevictable=lines.get(prefix + b"unevictable"),
        )

    return NumaStatV1(own=lists(b""), hierarchical=lists(b"hierarchical_"))


def parse_hugetlb(data: bytes, path: str) -> NodeBytes:
    """The ``total`` line of hugetlb.SIZE.numa_stat: bytes by node of the cgroup itself (v1) or its subtree (v2)."""
    lines = _numbers(data, path)
    if b"total" not in lines:
        raise ParseError(path, 0, b"", "a line 'total=BYTES N0=BYTES …'")
    return lines[b"total"]


def _numbers(data: bytes, path: str, unit: int = 1) -> dict[bytes, dict[int, int]]:
    """Every line as key → node → number × unit. The total after the key is checked and left out."""
    found: dict[bytes, dict[int, int]] = {}
    for line_number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        head, *words = line.split()
        key, equals, total = head.partition(b"=")
        if equals:
            number.count(total, path, line_number, line)
        nodes = found[key] = {}
        for word in words:
            node, _, value = word.partition(b"=")
            if node[:1] != b"N" or not number.countable(node[1:]):
                raise ParseError(path, line_number, line, "'KEY N0=NUMBER …' or 'KEY=NUMBER N0=NUMBER …'")
            nodes[int(node[1:])] = number.count(value, path, line_number, line) * unit
    return found
