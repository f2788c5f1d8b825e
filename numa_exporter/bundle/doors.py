"""What an answer of each door looks like. A bundle can be made by anybody: what a live door could never have said is
refused where it is read, with file, member and line, and not where a report would stumble over it.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import get_args

from numa_exporter.model.health import FailureWord
from numa_exporter.model.recording import Json, Question

YEAR_10000 = 253_402_300_800
"""Wall-clock seconds that no calendar writes."""
OF_BYTES = ("file", "kubelet")
"""Doors whose answers are bytes; those of the others are JSON."""
_WIDEST = 1 << 64
_NUMBERED = re.compile(r"/proc/[0-9]+/(?:task|fd|fdinfo)")
"""Threads and descriptors: directories in which the kernel names everything by a number."""


def check(question: Question, answer: Json) -> None:
    """ValueError, in words, where ``answer`` is none of the question's door. A door of a newer exporter is nobody's."""
    door, key = question
    expected, right = _DOORS.get(door, ("anything", lambda _: True))
    if door == "nvml" and "RunningProcesses" in key:
        expected, right = "rows of PID, bytes and instance", _processes
    if door == "device" and key == "hugetlbfs":
        expected, right = "pairs of device numbers", lambda value: _list(value, lambda pair: _list(pair, _count, 2))
    if door == "list" and _NUMBERED.fullmatch(key):
        expected, right = "a list of numbers", lambda value: _list(value, _number)
    if door == "pagemap" and " " not in key:
        expected, right = "true", lambda value: value is True
    if not right(answer):
        raise ValueError(f"an answer of the door {door} is {expected}")


def check_refusal(word: str, detail: str) -> None:
    """ValueError where a refusal has none of the failure words."""
    if word not in get_args(FailureWord):
        raise ValueError(f"a refusal is one of {', '.join(get_args(FailureWord))}")
    detail.encode("utf-8")


def finite(value: object) -> bool:
    """A number that is one; True and False are none."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer that no float holds
        return False


def wall(value: object) -> bool:
    """Seconds since 1970 that a calendar can write."""
    return finite(value) and 0 <= value < YEAR_10000  # type: ignore[operator]


def text(value: object) -> bool:
    """Text that can be written: no lone surrogate."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def _count(value: Json) -> bool:
    return _integer(value) and value >= 0  # type: ignore[operator]


def _integer(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _WIDEST


def _list(value: Json, right: Callable[[Json], bool], length: int | None = None) -> bool:
    return isinstance(value, list) and length in (None, len(value)) and all(map(right, value))


def _hexadecimal(value: Json) -> bool:
    return isinstance(value, str) and value.isascii() and value.isalnum() and bytes.fromhex(value) != b""


def _clock(value: Json) -> bool:
    return isinstance(value, list) and len(value) == 2 and wall(value[0]) and finite(value[1])


def _scan(value: Json) -> bool:
    return isinstance(value, list) and len(value) > 0 and finite(value[0]) and all(map(_count, value[1:]))


def _texts(value: Json) -> bool:
    return isinstance(value, Mapping) and all(text(key) and text(member) for key, member in value.items())


def _processes(value: Json) -> bool:
    def row(each: Json) -> bool:
        return isinstance(each, list) and len(each) == 3 and _count(each[0]) and all(map(_figure, each[1:]))

    return _list(value, row)


def _figure(value: Json) -> bool:
    return value is None or _count(value)


def _nvml(value: Json) -> bool:
    """Every number of NVML's is unsigned, and pynvml decodes its texts strictly."""
    if isinstance(value, Mapping):
        return all(text(key) and _nvml(member) for key, member in value.items())
    if isinstance(value, list):
        return all(map(_nvml, value))
    return value is None or isinstance(value, bool) or text(value) or _count(value)


def _number(value: Json) -> bool:
    return isinstance(value, str) and len(value) <= 10 and value.isascii() and value.isdecimal()


def _name(value: Json) -> bool:
    """Of a file in a directory: up to NAME_MAX bytes (limits.h), which os.fsdecode made a text of."""
    return isinstance(value, str) and 0 < len(value.encode("utf-8", "surrogateescape")) <= 255 and "/" not in value


def _is_text(value: Json) -> bool:
    return isinstance(value, str)  # names of files are bytes: a lone surrogate stands for one that is no UTF-8


_DOORS: Mapping[str, tuple[str, Callable[[Json], bool]]] = {
    "list": ("a list of names", lambda value: _list(value, _name)),
    "link": ("a path", _is_text),
    "real": ("a path", _is_text),
    "device": ("a pair of device numbers, or null", lambda value: value is None or _list(value, _count, 2)),
    "affinity": ("a hexadecimal mask", _hexadecimal),
    "pages": ("a list of node ids and errors", lambda value: _list(value, _integer)),
    "pagemap": ("seconds and page addresses", _scan),
    "held": ("a number", finite),
    "nvml": ("numbers and texts", _nvml),
    "cri": ("labels", _texts),
    "pick": ("members that are text", _texts),
    "environ": ("a value, or null", lambda value: value is None or text(value)),
    "clock": ("wall-clock and monotonic seconds", _clock),
    "seed": ("an integer", _integer),
    "started": ("clock ticks since boot", _count),
}
