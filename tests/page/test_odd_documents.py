"""No document breaks the page: unknown is said, wrongly typed is unknown."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numa_exporter.page import render
from tests.page.parsed import parse
from tests.page.reports import everything, machine, node, rank, report, workload

Path = tuple[Any, ...]


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Path of every key; of an array only the first item, as the others are alike."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def holder(document: Any, path: Path) -> Any:
    for key in path[:-1]:
        document = document[key]
    return document


@pytest.mark.parametrize("wrong", [None, "text", -1, True, [], {}, [None], {"0": None}], ids=repr)
def test_any_value_may_be_unknown_or_wrongly_typed(wrong: object) -> None:
    for path in places(everything()):
        damaged = everything()
        holder(damaged, path)[path[-1]] = wrong
        assert render(damaged).html.count("<h1 ") == 1, path


def test_any_key_may_be_missing() -> None:
    for path in places(everything()):
        if isinstance(path[-1], str):
            damaged = everything()
            del holder(damaged, path)[path[-1]]
            assert render(damaged).html.count("<h1 ") == 1, path


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(sorted(report())), json))
def test_any_json_gives_a_page(document: dict[str, object]) -> None:
    assert len(parse(render(document).html).every("h1")) == 1


def test_workloads_that_cannot_be_told_apart_still_have_ids_of_their_own() -> None:
    nameless = workload("a", rank(0, [0]), namespace=None, pod=None, container=None)
    page = parse(render(report(nameless, nameless)).html)
    ids = [e.attributes["id"] for e in page.every() if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    assert [e.text for e in page.every("h3")] == ["unnamed workload", "unnamed workload"]


def test_pages_on_a_node_that_the_machine_does_not_list_count_but_are_not_drawn() -> None:
    lost = rank(0, [0], cpu_seconds={"0": 1, "9": 1})
    page = parse(render(report(workload("a", lost))).html)
    bar = page.with_class("rows")[0].every("rect")[0]
    assert bar.attributes["width"] == "50%"


def test_a_node_between_sockets_stands_alone() -> None:
    page = parse(render(report(machine=machine(node(0, 0), node(1, 1), node(2, None)))).html)
    assert [e.every("b")[0].text for e in page.with_class("frame")] == ["socket 0", "socket 1", "socket unknown"]


def test_thirty_six_columns_are_drawn() -> None:
    wide = report(workload("a", rank(0, [0])), machine=machine(*(node(i, i // 18) for i in range(36))))
    page = parse(render(wide).html)
    assert len(page.with_class("node")) == 36
    assert [e.attributes["class"] for e in page.with_class("frame")] == ["frame span-18", "frame span-18"]
