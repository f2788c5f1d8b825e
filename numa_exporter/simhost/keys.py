"""The keys of a scenario file: how each value is read, and the refusal of every key that is not one."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, field, fields
from typing import Any, TypeVar

T = TypeVar("T")

_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(KiB|MiB|GiB|TiB)")
_MOMENT = re.compile(r"-?(?:\d+(?:\.\d+)?[dhms])+")


class ScenarioError(ValueError):
    """What is wrong with a scenario, naming the file and the key."""


def size(text: object) -> int:
    """Bytes of "3GiB"; ValueError for anything else."""
    match = _SIZE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError('a size such as "3GiB"')
    return int(float(match[1]) * _UNITS[match[2]])


def moment(text: object) -> float:
    """Seconds of "-3h" or "12m30s"; ValueError for anything else."""
    if not isinstance(text, str) or _MOMENT.fullmatch(text) is None:
        raise ValueError('a moment such as "-3h" or "12m30s"')
    total = sum(float(number) * _SECONDS[unit] for number, unit in re.findall(r"(\d+(?:\.\d+)?)([dhms])", text))
    return -total if text.startswith("-") else total


def words(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("a text")
    return value


def count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("a count")
    return value


def amount(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise ValueError("a number that is not negative")
    return float(value)


def flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def integers(value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(isinstance(one, int) and not isinstance(one, bool) for one in value):
        raise ValueError("a list of whole numbers")
    return tuple(value)


def texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError("a list of texts")
    return tuple(value)


def shares(value: object) -> tuple[float, ...]:
    """One share for all ranks, or one for each."""
    found = value if isinstance(value, list) else [value]
    if not found or not all(isinstance(one, int | float) and 0 <= one <= 1 for one in found):
        raise ValueError("a share from 0 to 1, or a list of them")
    return tuple(map(float, found))


def key(parse: Callable[[object], object], default: object = MISSING) -> Any:
    """A field that is read from the file by ``parse``."""
    return field(metadata={"parse": parse}) if default is MISSING else field(default=default, metadata={"parse": parse})


def tables(owner: dict[str, Any], name: str, path: str) -> Sequence[dict[str, Any]]:
    found = owner.pop(name, [])
    if not isinstance(found, list):
        raise ScenarioError(f"{path}: {name}: expected [[{name}]] tables")
    return [dict(table(one, path, name)) for one in found]


def table(value: object, path: str, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ScenarioError(f"{path}: {name}: expected a table")
    return value


def read(noun: type[T], table: Mapping[str, Any], path: str, where: str, **given: object) -> T:
    known = {spec.name: spec for spec in fields(noun) if "parse" in spec.metadata}  # type: ignore[arg-type]
    values: dict[str, object] = dict(given)
    for key, value in table.items():
        if key not in known:
            raise ScenarioError(f"{path}: unknown key {where}{key}")
        try:
            values[key] = known[key].metadata["parse"](value)
        except ValueError as error:
            raise ScenarioError(f"{path}: {where}{key}: expected {error}, found {value!r}") from error
    missing = [name for name, spec in known.items() if spec.default is MISSING and name not in values]
    if missing:
        raise ScenarioError(f"{path}: {where}{missing[0]} is missing")
    return noun(**values)
