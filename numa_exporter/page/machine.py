"""The machine, drawn once as the head of the columns: sockets, nodes with their memory, GPUs as chips."""

from collections.abc import Iterable, Mapping

from numa_exporter.page.anchors import anchor
from numa_exporter.page.document import Finding
from numa_exporter.page.hardware import Gpu, Node
from numa_exporter.page.ledger import Ledger
from numa_exporter.page.markup import NOTHING, Markup, hidden_text, join, tag
from numa_exporter.page.rows import TRIANGLE
from numa_exporter.page.words import GIB, NBSP, decimal, id_list, percent, plural

MEMORY_BAR = 10  # px
MIB = 1 << 20
SMALL_NODE = 10 * GIB
"""Below this whole GiB say nothing."""
SOCKETS_UNKNOWN = {
    "no_cpus": "no node has CPUs",
    "package_missing": "a CPU has no package id",
    "package_per_cpu": "every CPU claims a package of its own, as in many virtual machines",
    "node_spans_packages": "one node spans several packages (NPS0)",
}


def draw(ledger: Ledger) -> Markup:
    """Frames of the sockets, then one box per node; below, what has no place in them."""
    if not ledger.columns.tracks:
        return tag("p", "The NUMA nodes of this machine could not be read.", class_="quiet")
    boxes = (
        _distance(ledger, position) if track is None else _node(ledger, ledger.document.machine.nodes[track])
        for position, track in enumerate(ledger.columns.tracks)
    )
    return tag(
        "div",
        tag("div", _frames(ledger), class_="head frames"),
        tag("div", boxes, class_="head"),
        _not_placed(ledger),
        _not_drawn(ledger),
        class_="machine",
    )


def draw_strip(ledger: Ledger) -> Markup:
    """The names of the columns once more: it stays at the top while the rows scroll."""
    word = "" if ledger.columns.narrow else f"node{NBSP}"
    names = (
        tag("div", class_="gap") if track is None else tag("div", f"{word}{track}", class_="cell")
        for track in ledger.columns.tracks
    )
    line = (
        tag("div", "rank", class_="who"),
        tag("div", "share on", class_="lane-names"),
        names,
        tag("div", "remote", class_="numbers"),
    )
    return tag("div", tag("div", line, class_="row"), class_="strip", aria_hidden="true")


def _frames(ledger: Ledger) -> Markup:
    machine, columns = ledger.document.machine, ledger.columns
    if not machine.sockets:
        words = SOCKETS_UNKNOWN.get(
            machine.sockets_unknown or "", "this machine does not say which nodes share a package"
        )
        return tag("div", tag("b", "sockets unknown"), " ", tag("span", words), class_="frame all")
    return join(
        (_frame(socket, width, machine.utilization) for socket, width in columns.sockets),
        separator=tag("div", class_="gap"),
    )


def _frame(socket: int | None, width: int, utilization: Mapping[int, float]) -> Markup:
    if socket is None:
        return tag("div", tag("b", "socket unknown"), class_=f"frame span-{width}")
    busy = utilization.get(socket)
    state = tag("span", f"CPU {percent(busy)} busy") if busy is not None else None
    return tag("div", tag("b", f"socket {socket}"), " ", state, class_=f"frame span-{width}")


def _distance(ledger: Ledger, position: int) -> Markup:
    """The kernel's distance across a gap."""
    left, right = ledger.columns.tracks[position - 1], ledger.columns.tracks[position + 1]
    if left is None or right is None:
        return tag("div", class_="gap")
    distance = ledger.document.machine.nodes[left].distances.get(right)
    if distance is None:
        return tag("div", class_="gap")
    spoken = hidden_text(f"between node {left} and node {right}, ")
    return tag("div", spoken, tag("span", f"distance {decimal(distance)}"), class_="gap distance")


def _node(ledger: Ledger, node: Node) -> Markup:
    gpus = [gpu for gpu in ledger.document.machine.gpus if _column_of(ledger, gpu) == node.id]
    paired = set(ledger.document.machine.nics.values())
    others = [x.name for x in ledger.document.machine.devices if x.node == node.id and x.name not in paired]
    cpus = ("CPUs ", _cpu_ranges(node)) if node.cpus else "no CPUs"
    return tag(
        "div",
        tag("p", tag("b", f"node{NBSP}{node.id}"), " ", cpus),
        _memory(node, ledger.columns.narrow),
        _marked(ledger, node),
        tag("div", (_chip(ledger, gpu) for gpu in gpus), class_="chips"),
        tag("p", f"also {', '.join(others)}", class_="quiet") if others else None,
        class_="node",
    )


def _cpu_ranges(node: Node) -> Markup:
    """Lines break between ranges, never inside one."""
    ranges = node.cpus.replace(",", ",\n").split("\n")
    return join((tag("span", cpus, class_="unbroken") for cpus in ranges), separator=" ")


def _memory(node: Node, narrow: bool) -> Markup:
    """Used, cache and free as one bar, and the same in words."""
    size, free = node.memory_bytes, node.free_bytes
    if size is None:
        return tag("p", "memory unknown", class_="quiet")
    if size <= 0:
        return tag("p", "no memory", class_="quiet")
    unit, scale = ("GiB", GIB) if size >= SMALL_NODE else ("MiB", MIB)
    whole = f"{size / scale:,.0f} {unit}"
    if free is None:
        return tag("p", whole, class_="quiet")
    cache = node.reclaimable_bytes or 0.0
    used = max(size - free - cache, 0.0)
    bar = tag(
        "svg",
        tag("rect", class_="used", width=f"{decimal(100 * used / size)}%", height=MEMORY_BAR),
        tag(
            "rect",
            class_="cache",
            x=f"{decimal(100 * used / size)}%",
            width=f"{decimal(100 * cache / size)}%",
            height=MEMORY_BAR,
        ),
        class_="memory-bar",
        aria_hidden="true",
    )
    parts = "" if narrow else f"{used / scale:,.0f} used, "
    parts += f"{cache / scale:,.0f} cache, " if node.reclaimable_bytes is not None and not narrow else ""
    return join(bar, tag("p", f"{whole}{', ' if narrow else ': '}{parts}{free / scale:,.0f} free", class_="quiet"))


def _marked(ledger: Ledger, node: Node) -> Markup:
    """Warnings about the machine that name this node, or the memory node of a GPU that is drawn in it."""
    own = {node.id} | {g.memory_node for g in ledger.document.machine.gpus if _column_of(ledger, g) == node.id}
    codes = dict.fromkeys(f.code for f in ledger.about_machine if f.live_warning and _node_of(f) in own)
    return join(
        tag("p", tag("a", TRIANGLE, " ", code, id=anchor("n", str(node.id), code), href="#machine")) for code in codes
    )


def _node_of(finding: Finding) -> int:
    node = finding.subject.get("numa_node")
    return node if isinstance(node, int) else -1


def _chip(ledger: Ledger, gpu: Gpu) -> Markup:
    """A GPU: links to the worst workload on it; filled with ▲ where a rank on it is bad; dashed where it is free."""
    holders = [(entry, row) for entry in ledger.entries for row in entry.rows if gpu.key in row.rank.gpus]
    bad = [(entry, row) for entry, row in holders if row.against]
    name = tag("span", f"GPU {gpu.short_name}", (" ", TRIANGLE, hidden_text(" against the grain")) if bad else None)
    nic = ledger.document.machine.nics.get(gpu.key)
    lines = [nic, f"memory is node {gpu.memory_node}" if gpu.memory_node is not None else None]
    if not holders:
        unknown = ledger.document.is_down("nvml", "gpus", "processes")
        lines.insert(0, "holder unknown" if unknown else "free")
        return tag("span", name, _small(lines), class_="chip free")
    if len(holders) > 1:
        lines.insert(0, f"{len(holders)} ranks")
    entry = (bad or holders)[0][0]
    return tag(
        "a",
        name,
        _small(lines),
        id=anchor("c", gpu.key),
        class_="chip bad" if bad else "chip",
        href=f"#{entry.anchor}",
        title=entry.name,
    )


def _small(lines: Iterable[str | None]) -> Markup:
    return join(tag("small", line) for line in lines if line)


def _column_of(ledger: Ledger, gpu: Gpu) -> int | None:
    """The first node of the GPU's affinity that has a column; never node 0 by default."""
    return next((node for node in gpu.affinity if ledger.columns.position(node) is not None), None)


def _not_placed(ledger: Ledger) -> Markup:
    lost = [gpu for gpu in ledger.document.machine.gpus if _column_of(ledger, gpu) is None]
    if not lost:
        return NOTHING
    words = (tag("b", "Not placed"), " (affinity unknown): ")
    return tag("div", words, (_chip(ledger, gpu) for gpu in lost), class_="below not-placed")


def _not_drawn(ledger: Ledger) -> Markup:
    nodes = ledger.document.machine.nodes.values()
    empty = [node.id for node in nodes if node.kind != "cpu" and not node.has_memory]
    if not empty:
        return NOTHING
    words = f"Not drawn: {plural(len(empty), 'node')} with neither CPUs nor memory ({id_list(empty)})."
    return tag("p", words, class_="quiet below")
