"""The picture at `/`: the ledger under the machine, one self-contained HTML page from the report document.

fields → hardware, document    decoded JSON as typed values; unknown decided once
locality → lanes → ledger      what is drawn: workloads, ranks, lanes; columns from the nodes
words, markup, anchors         numbers, escaped elements, ids
marks, spoken → rows           one rank
machine, verdict, workloads, notes, looked_at     the regions
colours → style, script, policy → render          the page and its Content-Security-Policy
"""

from numa_exporter.page.render import Page, render

__all__ = ["Page", "render"]
