"""Each recorded machine is read and judged as it was when its goldens were looked at.

A golden differs? Look at the difference; if it is meant: UPDATE_GOLDENS=1 .venv/bin/python -m pytest tests/hosts
"""

import gzip
import os
import re
from collections import Counter

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.hosts.record import MACHINES
from tests.hosts.recorded import BUNDLE, HOSTS, goldens, names, replay

EACH = pytest.mark.parametrize("name", names())
MOST_BYTES = 150_000
# A bundle shows what ran where it was recorded; that is a guest, which has nobody's home in it.
PERSONAL = re.compile(rb"/root\b|/home\b|/work\b|/tmp\b|/Users\b|pyenv|site-packages")


def lines(name: str) -> list[list[str]]:
    """LEVEL, CODE and SENTENCE of each finding in a machine's golden."""
    return [line.split(maxsplit=2) for line in (HOSTS / name / "findings.txt").read_text().splitlines()]


@EACH
def test_goldens(name: str) -> None:
    folder = HOSTS / name
    made = goldens(folder)
    if os.environ.get("UPDATE_GOLDENS"):
        for file, text in made.items():
            (folder / file).write_text(text)
    for file, text in made.items():
        assert (folder / file).read_text().splitlines() == text.splitlines(), folder / file
    assert {path.name for path in folder.iterdir()} == {BUNDLE, *made}


@EACH
def test_every_reader_tells_the_same_findings(name: str) -> None:
    """The text for people and the metrics, against the golden, which is the document's."""
    text = " ".join(replay(HOSTS / name).split())
    assert [code for _, code, sentence in lines(name) if sentence not in text] == []
    counted: Counter[tuple[str, str]] = Counter()
    for family in text_string_to_metric_families(replay(HOSTS / name, "--metrics")):
        for sample in family.samples:
            if sample.name == "numa_findings":
                counted[sample.labels["level"], sample.labels["code"]] += int(sample.value)
    assert counted == Counter((level, code) for level, code, _ in lines(name))


@EACH
def test_a_bundle_is_small_and_names_nobody(name: str) -> None:
    data = (HOSTS / name / BUNDLE).read_bytes()
    assert len(data) <= MOST_BYTES
    assert not PERSONAL.findall(gzip.decompress(data))


def test_every_machine_is_recorded() -> None:
    assert names() == sorted(MACHINES)


def test_as_many_fail_as_are_well() -> None:
    """A golden that nobody would notice proves little: several machines have warnings, several have none."""
    ill = [name for name in names() if any(level == "warning" for level, _, _ in lines(name))]
    assert 3 <= len(ill) <= len(names()) - 3
