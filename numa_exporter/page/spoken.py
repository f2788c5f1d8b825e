"""A row as one sentence, for screen readers: a table of three lanes by eight nodes is useless by ear."""

from numa_exporter.page.lanes import Lane
from numa_exporter.page.ledger import Row
from numa_exporter.page.words import NBSP, on_nodes, percent

AT_MOST = 3  # nodes named per lane
LEAST = 0.01  # a smaller share is not worth a breath


def home_words(row: Row) -> str:
    """ "home node 1", "home nodes 0-3", "home unknown"."""
    return f"home {on_nodes(row.rank.home)}" if row.rank.home else "home unknown"


def sentence(row: Row) -> str:
    """ "GPU 6, home node 1. CPU time: 92 % on node 1, 8 % on node 0. memory: …; against the grain."."""
    doubt = [f"Low confidence: {row.doubted}."] if row.doubted else []
    return " ".join([f"{row.name}, {home_words(row)}.", *(_lane(lane) for lane in row.lanes), *doubt])


def _lane(lane: Lane) -> str:
    largest = sorted(lane.amounts, key=lambda node: (-lane.share(node), node))[:AT_MOST]
    where = [f"{percent(lane.share(n))} on node{NBSP}{n}" for n in largest if lane.share(n) >= LEAST]
    verdict = "; against the grain" if lane.against else f"; not judged: {lane.not_judged}" if lane.not_judged else ""
    return f"{lane.dimension.name}: {', '.join(where) or 'nothing seen'}{verdict}."
