"""Typed reading of decoded JSON. Missing, null and wrongly typed all mean unknown: None, or an empty collection."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TypeAlias

Record: TypeAlias = Mapping[str, object]


def text(record: Record, key: str) -> str | None:
    """A string; the empty string says nothing and is None."""
    value = record.get(key)
    return value if isinstance(value, str) and value else None


def number(record: Record, key: str) -> float | None:
    """A finite number; JSON's true is not 1."""
    return _number(record.get(key))


def integer(record: Record, key: str) -> int | None:
    value = record.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def flag(record: Record, key: str) -> bool | None:
    value = record.get(key)
    return value if isinstance(value, bool) else None


def record(parent: Record, key: str) -> Record:
    """An object; {} where there is none."""
    value = parent.get(key)
    return value if isinstance(value, Mapping) else {}


def records(parent: Record, key: str) -> tuple[Record, ...]:
    """The objects of an array."""
    return tuple(item for item in _array(parent, key) if isinstance(item, Mapping))


def texts(parent: Record, key: str) -> tuple[str, ...]:
    """The strings of an array."""
    return tuple(item for item in _array(parent, key) if isinstance(item, str) and item)


def integers(parent: Record, key: str) -> tuple[int, ...]:
    """The whole numbers of an array."""
    return tuple(item for item in _array(parent, key) if isinstance(item, int) and not isinstance(item, bool))


def numbers(parent: Record, key: str) -> dict[str, float]:
    """An object of numbers; entries with an unknown value are left out."""
    found = ((name, _number(value)) for name, value in record(parent, key).items())
    return {name: value for name, value in found if value is not None}


def by_node(parent: Record, key: str) -> dict[int, float]:
    """{"0": bytes or seconds} with node ids as keys."""
    return {int(name): value for name, value in numbers(parent, key).items() if name.isdecimal()}


def _array(parent: Record, key: str) -> Sequence[object]:
    value = parent.get(key)
    return value if isinstance(value, list | tuple) else ()


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return value
