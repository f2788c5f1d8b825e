"""One thing out of a text that holds secrets beside it: a container's name, one environment variable.

A runtime's description of a container and /proc/PID/environ (NUL-separated NAME=VALUE, proc(5)) both hold every
variable of the container's environment, tokens and keys included. What is taken here is all that may go further.
"""

from collections.abc import Iterable, Mapping

from numa_exporter.formats.json_object import load
from numa_exporter.formats.parse_error import ParseError


def members(data: bytes, path: str, names: Iterable[str]) -> Mapping[str, str]:
    """Those of the members that are text; ``annotations/a.b`` is member a.b of member annotations. ParseError, which
    quotes nothing of the file, where it is no JSON object."""
    try:
        whole = load(data, path)
    except ParseError as error:
        raise ParseError(path, error.line_number, b"", error.expected) from None
    found: dict[str, str] = {}
    for name in names:
        value: object = whole
        for step in name.split("/"):
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, str):
            found[name] = value
    return found


def variable(data: bytes, name: str) -> str | None:
    """Its value; None where it is not set."""
    prefix = name.encode() + b"="
    value = next((entry[len(prefix) :] for entry in data.split(b"\0") if entry.startswith(prefix)), None)
    return None if value is None else value.decode("utf-8", "replace")
