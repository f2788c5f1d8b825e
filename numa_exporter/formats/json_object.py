"""Typed steps through a JSON (or YAML) document of the Kubernetes world, with ParseError where it bends.

Go writes such files: an empty value is left out (``omitempty``) or ``null``, so absent, null and empty are one.
"""

import json
from collections.abc import Iterator
from typing import Any, TypeVar

from numa_exporter.formats.parse_error import ParseError

Object = dict[str, Any]
_T = TypeVar("_T", dict[str, Any], list[Any], str, int)


def load(data: bytes, path: str) -> Object:
    """The object that is the whole file."""
    try:
        value = json.loads(data)
    except json.JSONDecodeError as error:
        raise ParseError(path, error.lineno, data, f"JSON ({error.msg} at column {error.colno})") from error
    except UnicodeDecodeError as error:
        raise ParseError(path, 1, data, "JSON in UTF-8") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets of thousands deep
        raise ParseError(path, 1, data, f"JSON ({error})") from error
    return of_kind(value, dict, "the file", path)


def of_kind(value: object, kind: type[_T], what: str, path: str) -> _T:
    """``value`` as that kind; null is its empty value."""
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise ParseError(path, 1, f"{value!r}".encode(), f"{what} as a {kind.__name__}")
    return value


def member(table: Object, key: str, kind: type[_T], path: str) -> _T:
    """The value of a key; empty where the key is absent or null."""
    return of_kind(table.get(key), kind, key, path)


def members(table: Object, kind: type[_T], path: str) -> Iterator[tuple[str, _T]]:
    """Every key with its value."""
    return ((key, of_kind(value, kind, key, path)) for key, value in table.items())


def objects(table: Object, key: str, path: str) -> Iterator[Object]:
    """The objects in the list of a key."""
    return (of_kind(value, dict, f"an entry of {key}", path) for value in member(table, key, list, path))
