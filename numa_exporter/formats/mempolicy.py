"""A memory policy as the kernel writes it.

Documentation/admin-guide/mm/numa_memory_policy.rst, mm/mempolicy.c:mpol_to_str::

    default
    local
    bind:0-1
    bind=static|balancing:0
    prefer (many)=static:0
    weighted interleave:0-1,3
    interleave=0-7                  before 2.6.26: the nodes behind the "=", no flags

Nodes are node ids. Two modes contain a blank. Flags (static, relative, balancing) come before the nodes.
"""

import re
from dataclasses import dataclass

from numa_exporter.formats import idlist
from numa_exporter.formats.parse_error import ParseError

_POLICY = re.compile(r"([a-z]+(?: \([a-z]+\)| [a-z]+)*)(?:=([a-z]+(?:\|[a-z]+)*))?(?:[:=]([0-9][0-9,:/-]*))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """``mode`` is the kernel's word, also one of a kernel to come; default and local have no nodes."""

    mode: str
    flags: tuple[str, ...] = ()
    nodes: frozenset[int] = frozenset()


def parse(data: bytes | str, path: str, line_number: int = 1) -> Policy:
    """One policy word; raises ParseError."""
    text = (data if isinstance(data, str) else data.decode("ascii", "backslashreplace")).strip()
    match = _POLICY.fullmatch(text)
    if match is None:
        broken = text.encode("utf-8", "backslashreplace")
        raise ParseError(path, line_number, broken, "a memory policy such as bind=static:0-1")
    mode, flags, nodes = match.groups()
    return Policy(
        mode=mode,
        flags=tuple(flags.split("|")) if flags else (),
        nodes=idlist.parse(nodes, path, line_number) if nodes else frozenset(),
    )


def render(policy: Policy) -> str:
    """The policy as a kernel of today writes it."""
    flags = "=" + "|".join(policy.flags) if policy.flags else ""
    nodes = ":" + idlist.render(policy.nodes) if policy.nodes else ""
    return policy.mode + flags + nodes
