"""docs/permissions.md says what is measured here."""

import os

import pytest

from tests.permissions import COLUMNS, DOCUMENT, PROBES, Scene, measure, written

SINCE_6_15 = ("PERFMON", "SYS_ADMIN")


def cells(text: str) -> dict[tuple[str, str], str]:
    """What the tables say, by row and column; without the columns that an older kernel fills otherwise."""
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    found = {}
    header: list[str] = []
    for line in text.splitlines():
        if line.startswith("| | nothing"):
            header = [cell.strip() for cell in line.split("|")[2:-1]]
        elif header and line.startswith("| "):
            row, *words = (cell.strip() for cell in line.split("|")[1:-1])
            found.update({(row, column): word for column, word in zip(header, words, strict=True)})
        elif line == "<!-- end -->":
            header = []
    return {key: word for key, word in found.items() if release >= (6, 15) or key[1] not in SINCE_6_15}


@pytest.mark.xdist_group("someone")
def test_the_document_says_what_is_measured(someone: Scene) -> None:
    document = cells(DOCUMENT.read_text())
    assert cells(written(measure(someone))) == document
    assert {column for _, column in document} <= {rights.name for rights in COLUMNS}
    assert len(document) >= 8 * (len(PROBES) + 10)
