"""Log lines can be taken apart again, whatever the host put into them."""

import json
import logging

import pytest

from numa_exporter.agent.logs import JsonLines, Logfmt


def record(message: str, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("numa_exporter", logging.WARNING, __file__, 1, message, (), None)
    vars(made).update(extra)
    return made


def test_logfmt_quotes_what_would_break_a_line() -> None:
    line = Logfmt().format(record("source failed", path="/proc/1/a b\nts=forged", source="memory"))
    assert "\n" not in line
    assert 'msg="source failed"' in line
    assert "source=memory" in line
    assert r'path="/proc/1/a b\nts=forged"' in line


@pytest.mark.parametrize("hostile", ["a\u2028b", '"', "\x1b[31m", ""])
def test_json_lines_are_one_object_each(hostile: str) -> None:
    line = JsonLines().format(record("x", comm=hostile))
    assert "\n" not in line
    assert json.loads(line)["comm"] == hostile
    assert json.loads(line)["level"] == "warning"


def test_a_trace_is_part_of_the_line() -> None:
    try:
        raise RuntimeError("broken")
    except RuntimeError as error:
        made = record("source failed")
        made.exc_info = (RuntimeError, error, error.__traceback__)
    assert "RuntimeError: broken" in json.loads(JsonLines().format(made))["trace"]
