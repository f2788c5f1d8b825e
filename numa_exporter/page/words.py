"""Numbers and names as a person reads them. Between a number and its unit stands a no-break space."""

from collections.abc import Iterable

from numa_exporter.formats import idlist
from numa_exporter.model import amounts

GIB = 1 << 30
NBSP = "\u00a0"


def percent(ratio: float) -> str:
    """0.5 → "50 %"; a share that is there but rounds to nothing is "<1 %"."""
    return f"<1{NBSP}%" if 0 < ratio < 0.01 else f"{ratio * 100:.0f}{NBSP}%"


def memory(count: float) -> str:
    """Bytes by the rule of all texts: 18.7 GiB, 536 MiB."""
    return amounts.size(count, NBSP)


def decimal(value: float) -> str:
    """At most two decimals and never an exponent: fit for SVG attributes."""
    short = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def plural(count: int, noun: str) -> str:
    """ "1 rank", "2 ranks"."""
    return amounts.plural(count, noun, NBSP)


def id_list(ids: Iterable[int]) -> str:
    """[3, 4, 5, 9] → "3-5,9": the kernel's list text."""
    return idlist.render(set(ids))


def on_nodes(ids: Iterable[int]) -> str:
    """ "node 0" or "nodes 0-3,6"."""
    distinct = set(ids)
    return f"node{'' if len(distinct) == 1 else 's'}{NBSP}{id_list(distinct)}"


def clock(stamp: str | None, beside: str | None = None) -> str | None:
    """ "11:21" of an RFC 3339 stamp, with the date in front where it is not the date of `beside`."""
    if stamp is None or len(stamp) < 16:
        return stamp
    same_day = beside is not None and beside[:10] == stamp[:10]
    return stamp[11:16] if same_day else f"{stamp[:10]}{NBSP}{stamp[11:16]}"
