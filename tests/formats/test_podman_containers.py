import json

import pytest

from numa_exporter.formats.parse_error import ParseError
from numa_exporter.formats.podman_containers import parse


def test_the_first_name_of_each() -> None:
    rows = [{"id": "a", "names": ["llm", "other"]}, {"id": "b"}, {"id": "c", "names": None}]
    assert parse(json.dumps(rows).encode(), "containers.json") == {"a": "llm"}


@pytest.mark.parametrize("text", ["", "{", "{}", '["a"]', '[{"id": 1, "names": ["x"]}]', "\xff"])
def test_what_is_no_list_of_containers(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text.encode("latin-1"), "containers.json")
