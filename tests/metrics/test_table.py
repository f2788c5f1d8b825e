"""The table holds the rules of Prometheus and of the contract, row by row."""

import re
from typing import get_args

import pytest
from prometheus_client.parser import text_string_to_metric_families

from numa_exporter.metrics import TABLE, Row
from numa_exporter.metrics.docs import markdown
from numa_exporter.metrics.exposition import families, open_metrics, text
from numa_exporter.metrics.row import Sample, View
from numa_exporter.model.health import FailureWord
from numa_exporter.model.ids import Backing, Dimension, Locality
from numa_exporter.model.placement import PathClass, Role
from numa_exporter.model.processes import Evidence

BASE_UNITS = ("_seconds", "_bytes", "_ratio")


def test_names_are_unique() -> None:
    names = [row.name for row in TABLE]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_row_keeps_the_naming_rules(row: Row) -> None:
    assert re.fullmatch(r"(numa|process)_[a-z_]+[a-z]", row.name)
    assert row.name.endswith("_total") == (row.kind == "counter")
    assert len(set(row.labels)) == len(row.labels)
    # `node` is the machine and `instance`, `job` are the scrape's: a label of ours must not collide.
    assert not {"node", "instance", "job", "type", "hostname"} & set(row.labels)
    assert row.help.endswith(".") and "\n" not in row.help
    assert not re.search(r"_(milliseconds|kilobytes|kb|mb|percent|pages_bytes)", row.name)


def row_of(*samples: Sample, labels: tuple[str, ...] = ("a", "b")) -> Row:
    return Row(name="numa_test", kind="gauge", labels=labels, help="A test.", samples=lambda view: iter(samples))


VIEW = View(report=None)  # type: ignore[arg-type]


def test_a_label_value_that_is_unknown_is_left_out() -> None:
    page = text(families([row_of((("x", None), 1))], VIEW)).decode()
    assert 'numa_test{a="x"} 1.0' in page


def test_wrong_arity_is_an_error_not_a_lost_label() -> None:
    with pytest.raises(ValueError, match="zip"):
        families([row_of((("x",), 1))], VIEW)


def test_a_repeated_key_is_an_error() -> None:
    with pytest.raises(ValueError, match="twice"):
        families([row_of((("x", 1), 1), (("x", 1), 2))], VIEW)


def test_past_the_limit_series_are_dropped_and_counted() -> None:
    found = families([row_of(*(((str(n), None), n) for n in range(10)))], VIEW, max_series=4)
    assert found.series == 4
    assert found.dropped == {"numa_test": 6}


def test_hostile_label_values_survive_both_formats() -> None:
    hostile = 'a"b\\c\nd\u2028é'
    found = families([row_of(((hostile, None), 1))], VIEW)
    (family,) = text_string_to_metric_families(text(found).decode())
    assert family.samples[0].labels == {"a": hostile}
    assert open_metrics(found).endswith(b"# EOF\n")


def test_the_docs_name_every_row() -> None:
    page = markdown(TABLE)
    for row in TABLE:
        assert f"| `{row.name}` | {row.kind} |" in page


@pytest.mark.parametrize("words", [Locality, Dimension, Backing, Role, Evidence, FailureWord, PathClass], ids=str)
def test_the_docs_explain_every_value(words: object) -> None:
    explained = markdown(TABLE).partition("## Words")[2]
    assert [word for word in get_args(words) if f"`{word}`" not in explained] == []
