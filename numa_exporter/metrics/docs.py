"""docs/metrics.md, printed from the table."""

from collections.abc import Sequence

from numa_exporter.metrics.row import Row, W

HEADER = """# Metrics

Printed from the table in `numa_exporter/metrics/` by `make docs`; a test holds it fresh.

`W` stands for the labels `namespace`, `pod`, `container`, `unit`: a Kubernetes container fills the first three, a
workload of the host fills `unit`; a label that does not apply is absent. Base units throughout. Unknown is not exposed:
no sentinel, no 0, no NaN.

| metric | kind | labels | what it says |
|---|---|---|---|
"""


def markdown(table: Sequence[Row]) -> str:
    """The whole page."""
    return HEADER + "".join(
        f"| `{row.name}` | {row.kind} | {_labels(row)} | {row.help.replace('|', chr(92) + '|')} |\n" for row in table
    )


def _labels(row: Row) -> str:
    others = [f"`{label}`" for label in row.labels if label not in W]
    return ", ".join(["`W`", *others] if set(W) <= set(row.labels) else others)
