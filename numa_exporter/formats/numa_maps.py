r"""/proc/PID/numa_maps: where the pages of each mapping are.

Documentation/filesystems/proc.rst section 1.1; fs/proc/task_mmu.c:show_numa_map, numa(7)::

    7ff4b3400000 default anon=3072 dirty=3072 active=0 N1=3072 kernelpagesize_kB=4
    7ff4b5400000 default file=/huge/model\040weights.bin\040(deleted) huge dirty=2 N0=1 N3=1 kernelpagesize_kB=2048
    7ff4b804e000 interleave=relative:0-1 anon=22 dirty=22 active=0 N0=11 N1=11 kernelpagesize_kB=4
    7ff4b80a0000 prefer (many):0-1 anon=33 dirty=33 active=0 N0=33 kernelpagesize_kB=4
    7fe1be800000 default
    3c5f000 default stack:4242 anon=2 dirty=2 N3=2

Only the start address: the end is in maps. Counts are pages of ``kernelpagesize_kB`` (transparent huge pages
count as base pages) and leave as bytes. Total = the sum of N*; ``mapped=`` is not always there. A page that
k processes map is in k files. Escaped in names are blank, tab, newline and ``=``, not the backslash.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from numa_exporter.formats import mempolicy
from numa_exporter.formats.backing import NO_DEVICES, Backing, MemoryDevices, backing_of
from numa_exporter.formats.maps import NO_FILES, Files
from numa_exporter.formats.mempolicy import Policy
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.formats.whole_lines import batches

_COUNTER = rb"(?:anon|dirty|mapped|mapmax|swapcache|active|writeback|N[0-9]+|kernelpagesize_kB)="
# A policy can be of several words: it goes on until something that can follow it.
_TAIL = re.compile(
    rb"(?P<policy>[a-z][^ ]*(?: (?!file=|heap\b|stack\b|huge\b|" + _COUNTER + rb"|[A-Za-z_]+[0-9]*=[0-9])[^ ]+)*)"
    rb"(?: file=(?P<file>[^ ]+)| (?P<heap>heap)| (?P<stack>stack)(?::[0-9]+)?)?(?P<huge> huge)?"
    rb"(?P<counts>(?: [A-Za-z_]+[0-9]{0,9}=[0-9]{1,18})*) ?"
)
_NODE = re.compile(rb" N([0-9]+)=([0-9]+)")
_COUNT = re.compile(rb" [A-Za-z_]+[0-9]*=[0-9]")
_ADDRESS = re.compile(rb"[0-9a-f]{1,16}")
_BLANK = frozenset(b" ")
_ESCAPE = re.compile(rb"\\(012|011|075|040)")
_EXPECTED = "ADDRESS POLICY [file=PATH|heap|stack] [huge] [NAME=COUNT …]"


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaMapsLine:
    """One mapping. ``policy_word`` is the policy as the file spells it; it is the effective one.

    ``pages`` are of ``page_bytes``, which is None for a huge mapping of a kernel before 4.0 (no
    kernelpagesize_kB) unless the default huge page size was given. ``mapmax`` is the largest map count of any page:
    None means private. Counts are None where the kernel prints none because they are 0.
    """

    start: int
    policy: Policy
    policy_word: str
    file: bytes | None
    heap: bool
    stack: bool
    huge: bool
    pages: Mapping[int, int]
    page_bytes: int | None
    anon: int | None
    dirty: int | None
    mapmax: int | None

    @property
    def deleted(self) -> bool:
        """True if the file has no name any more (or one that ends so)."""
        return self.file is not None and self.file.endswith(b" (deleted)")


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaMaps:
    """A whole file, folded: bytes by node under three keys.

    ``by_policy`` has the policy as the file spells it. ``by_segment`` is the named shared memory (backing
    ``shmem``) by file identity, its name where maps did not tell: what two processes share has one key.
    """

    vmas: int = 0
    by_backing: Mapping[Backing, Mapping[int, int]] = field(default_factory=dict)
    by_policy: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    by_segment: Mapping[str, Mapping[int, int]] = field(default_factory=dict)


def parse_line(
    line: bytes, path: str, number: int, *, base_page_bytes: int = 4096, huge_page_bytes: int | None = None
) -> NumaMapsLine:
    """One line; the two sizes are for kernels that print none. Raises ParseError."""
    address, _, tail = line.partition(b" ")
    match = _TAIL.fullmatch(tail)
    if match is None or _ADDRESS.fullmatch(address) is None:
        raise ParseError(path, number, line, _EXPECTED)
    try:
        policy = mempolicy.parse(match["policy"], path, number)
    except ParseError as error:
        raise ParseError(path, number, line, error.expected) from error
    file, counts, huge = match["file"], match["counts"], match["huge"] is not None
    names = dict(pair.split(b"=") for pair in counts.split())
    size = names.get(b"kernelpagesize_kB")
    return NumaMapsLine(
        start=int(address, 16),
        policy=policy,
        policy_word=match["policy"].decode("ascii", "backslashreplace"),
        file=None if file is None else unescape(file),
        heap=match["heap"] is not None,
        stack=match["stack"] is not None,
        huge=huge,
        pages={int(node): int(pages) for node, pages in _NODE.findall(counts)},
        page_bytes=int(size) * 1024 if size else huge_page_bytes if huge else base_page_bytes,
        anon=_count(names, b"anon"),
        dirty=_count(names, b"dirty"),
        mapmax=_count(names, b"mapmax"),
    )


def _count(names: Mapping[bytes, bytes], name: bytes) -> int | None:
    return int(names[name]) if name in names else None


def unescape(name: bytes) -> bytes:
    """A name as maps shows it. Not reversible: a backslash in a name is not escaped."""
    return _ESCAPE.sub(lambda escape: bytes([int(escape[1], 8)]), name)


@dataclass(slots=True, kw_only=True)
class _Kind:
    """Lines that differ in address and counts only, and their bytes by node.

    ``at`` has them by start address where the name alone does not say which file it is.
    """

    policy: str
    name: bytes | None
    huge: bool
    ambiguous: bool
    nodes: Counter[int] = field(default_factory=Counter)
    at: dict[int | None, Counter[int]] = field(default_factory=dict)


def fold(
    blocks: Iterable[bytes],
    path: str,
    *,
    files: Files = NO_FILES,
    devices: MemoryDevices = NO_DEVICES,
    base_page_bytes: int = 4096,
    huge_page_bytes: int | None = None,
) -> NumaMaps:
    """A whole file in blocks of any size, without an object per mapping.

    Lines are mostly alike once the address is cut off: equal tails are counted, then parsed once. ``files`` and
    ``devices`` tell named shared memory from files. Raises ParseError, and passes on what ``blocks`` raises.
    """
    kinds: dict[bytes, _Kind] = {}
    vmas = 0
    for lines in batches(blocks):
        for tail, count in Counter(_tails(lines)).items():
            head, _, columns = tail.partition(b" N")
            label = _COUNT.split(head, 1)[0].rstrip()
            try:
                kind = kinds.get(label) or kinds.setdefault(label, _kind(label, files))
                page_bytes = huge_page_bytes if kind.huge else base_page_bytes
                sizes = _sizes(columns, page_bytes) if columns else ()
                starts = _starts(lines, tail) if kind.ambiguous else ()
            except ValueError as error:
                at = next(at for at, line in enumerate(lines) if line.partition(b" ")[2] == tail)
                raise ParseError(path, vmas + at + 1, lines[at], _EXPECTED) from error
            for node, size in sizes:
                kind.nodes[node] += size * count
            for start in starts:
                kind.at.setdefault(start, Counter()).update(dict(sizes))
        vmas += len(lines)
    return _grouped(vmas, kinds.values(), files, devices)


def _tails(lines: list[bytes]) -> Iterable[bytes]:
    """The lines without address. Almost always all addresses of a batch are equally wide."""
    width = lines[0].find(b" ")
    try:
        uniform = set(map(itemgetter(width), lines)) == _BLANK
    except IndexError:
        uniform = False
    if uniform:
        return map(itemgetter(slice(width + 1, None)), lines)
    return (line.partition(b" ")[2] for line in lines)


def _kind(label: bytes, files: Files) -> _Kind:
    """Raises ValueError for what cannot begin a line."""
    match = _TAIL.fullmatch(label)
    if match is None:
        raise ValueError("no policy")
    name = None if match["file"] is None else unescape(match["file"])
    return _Kind(
        policy=match["policy"].decode("ascii", "backslashreplace"),
        name=name,
        huge=match["huge"] is not None,
        ambiguous=name in files.ambiguous,
    )


def _sizes(columns: bytes, page_bytes: int | None) -> list[tuple[int, int]]:
    """``0=12 N1=3 kernelpagesize_kB=4`` as (node, bytes) pairs; raises ValueError."""
    counts, sized, size = columns.partition(b" kernelpagesize_kB=")
    if sized:
        page_bytes = int(size.partition(b" ")[0]) * 1024
    if page_bytes is None:
        raise ValueError("a huge mapping without a page size")
    sizes = []
    for column in counts.split(b" N"):
        node, _, pages = column.partition(b"=")
        sizes.append((int(node), int(pages) * page_bytes))
    return sizes


def _starts(lines: list[bytes], tail: bytes) -> Sequence[int]:
    """The addresses of the lines with that tail; raises ValueError."""
    return [int(address, 16) for address, _, rest in (line.partition(b" ") for line in lines) if rest == tail]


def _grouped(vmas: int, kinds: Iterable[_Kind], files: Files, devices: MemoryDevices) -> NumaMaps:
    """The sums under the keys that placement asks for."""
    by_backing: dict[Backing, Counter[int]] = defaultdict(Counter)
    by_policy: dict[str, Counter[int]] = defaultdict(Counter)
    by_segment: dict[str, Counter[int]] = defaultdict(Counter)
    for kind in kinds:
        by_policy[kind.policy].update(kind.nodes)
        for start, nodes in kind.at.items() if kind.ambiguous else [(None, kind.nodes)]:
            file = None if kind.name is None else files.of(kind.name, start)
            device = None if file is None else file.device
            backing = backing_of(kind.name, huge=kind.huge, device=device, devices=devices)
            by_backing[backing].update(nodes)
            if backing == "shmem" and kind.name is not None:
                by_segment[str(file or kind.name.decode("utf-8", "backslashreplace"))].update(nodes)
    return NumaMaps(
        vmas=vmas,
        by_backing={backing: dict(nodes) for backing, nodes in by_backing.items() if nodes},
        by_policy={policy: dict(nodes) for policy, nodes in by_policy.items() if nodes},
        by_segment={segment: dict(nodes) for segment, nodes in by_segment.items() if nodes},
    )
