"""Tables as Markdown."""

from collections.abc import Iterator

from tests.bench.benchmark import Cell


def table(columns: list[str], rows: list[list[Cell]]) -> Iterator[str]:
    """A Markdown table."""
    yield "| " + " | ".join(columns) + " |"
    yield "|" + " --- |" * len(columns)
    for row in rows:
        yield "| " + " | ".join(map(shown, row)) + " |"


def shown(cell: Cell) -> str:
    if cell is None:
        return "–"
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
