import pytest

from numa_exporter.formats import excerpt
from numa_exporter.formats.parse_error import ParseError


def test_members_of_members_that_are_text() -> None:
    data = b'{"Name": "/llm", "annotations": {"a.b": "x", "n": 1}, "Config": {"Env": ["TOKEN=hunter2"]}}'
    asked = ("Name", "annotations/a.b", "annotations/n", "annotations", "Name/x", "none")
    assert excerpt.members(data, "config.json", asked) == {"Name": "/llm", "annotations/a.b": "x"}


@pytest.mark.parametrize("data", [b'{"Env": ["TOKEN=hunter2"', b'["TOKEN=hunter2"]', b"\xffhunter2"])
def test_an_error_quotes_nothing(data: bytes) -> None:
    with pytest.raises(ParseError) as caught:
        excerpt.members(data, "config.json", ("Name",))
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_one_variable_and_no_other() -> None:
    data = b"TOKEN=hunter2\0SLURM_JOB_ID=4711\0SLURM_JOB_ID_OF=1\0EMPTY=\0"
    assert excerpt.variable(data, "SLURM_JOB_ID") == "4711"
    assert excerpt.variable(data, "EMPTY") == ""
    assert excerpt.variable(data, "SLURM_JOB") is None
    assert excerpt.variable(b"", "X") is None
