"""--intent.file: deliberate exceptions, in YAML.

intents:
- workload: {namespace: prod, pod: "llm-*"}     # shell patterns; a host workload: {unit: "vllm*.service"}
  home: "1"                                     # it is meant to be on these NUMA nodes
  codes: [cpu_remote]                           # or: these findings are known, wherever it is
  reason: socket 0 has no free cores until the new machines come
  until: 2026-12-31                             # through that day, in UTC; without it, for ever
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from numa_exporter.findings import FINDINGS
from numa_exporter.findings.intents import Intent
from numa_exporter.formats import idlist
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.model.ids import NodeSet

SELECTORS = ("namespace", "pod", "container", "unit")
KEYS = ("workload", "home", "codes", "reason", "until")


class IntentError(ValueError):
    """What is wrong with the file, naming it and the key."""


def load(path: str) -> tuple[Intent, ...]:
    """Read and check the file. IntentError names it and what is wrong; OSError where it cannot be read."""
    import yaml

    with open(path, encoding="utf-8") as file:
        try:
            told = yaml.safe_load(file)
        # Its constructors raise errors of their own too: a day 2026-13-45, bytes that are no UTF-8, endless brackets.
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise IntentError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    top = _mapping(path, told, ("intents",))
    listed = top.get("intents")
    if not isinstance(listed, list):
        raise IntentError(f"{path}: intents: expected a list, found {_kind(listed)}")
    return tuple(_intent(f"{path}: intents[{number}]", entry) for number, entry in enumerate(listed))


def _intent(where: str, entry: object) -> Intent:
    fields = _mapping(where, entry, KEYS)
    reason = fields.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        raise IntentError(f"{where}.reason: expected words: nobody will remember why")
    home, codes = _home(f"{where}.home", fields.get("home")), _codes(f"{where}.codes", fields.get("codes"))
    if home is None and not codes:
        raise IntentError(f"{where}: expected home or codes: what is meant?")
    return Intent(
        reason=reason.strip(),
        home=home,
        codes=codes,
        until=_until(f"{where}.until", fields.get("until")),
        **_selectors(f"{where}.workload", fields.get("workload", {})),
    )


def _selectors(where: str, told: object) -> dict[str, str]:
    found = _mapping(where, told, SELECTORS)
    for key, pattern in found.items():
        if not isinstance(pattern, str) or not pattern:
            raise IntentError(f"{where}.{key}: expected a shell pattern, found {pattern!r}")
    return {str(key): str(pattern) for key, pattern in found.items()}


def _home(where: str, told: object) -> NodeSet | None:
    if told is None:
        return None
    try:
        nodes = idlist.parse(str(told), where) if isinstance(told, int | str) and not isinstance(told, bool) else None
    except ParseError:
        nodes = None
    if not nodes:
        raise IntentError(f"{where}: expected NUMA nodes such as 0 or 0-1, found {told!r}")
    return nodes


def _codes(where: str, told: object) -> frozenset[str]:
    if told is None:
        return frozenset()
    if not isinstance(told, list):
        raise IntentError(f"{where}: expected a list of codes, found {_kind(told)}")
    known = {rule.code for rule in FINDINGS}
    for code in told:
        if not isinstance(code, str) or code not in known:
            raise IntentError(f"{where}: no finding is called {code!r}; see docs/findings.md")
    return frozenset(map(str, told))


def _until(where: str, told: object) -> float | None:
    """The midnight after that day."""
    if told is None:
        return None
    try:
        day = told if isinstance(told, date) else date.fromisoformat(str(told))
        return (datetime.combine(day, time(), UTC) + timedelta(days=1)).timestamp()
    except (ValueError, OverflowError) as error:
        raise IntentError(f"{where}: expected a day such as 2026-12-31, found {told!r}") from error


def _mapping(where: str, told: object, keys: tuple[str, ...]) -> Mapping[Any, Any]:
    if not isinstance(told, Mapping):
        raise IntentError(f"{where}: expected keys and values, found {_kind(told)}")
    unknown = [key for key in told if key not in keys]
    if unknown:
        raise IntentError(f"{where}: unknown key {unknown[0]!r}; expected {', '.join(keys)}")
    return told


def _kind(told: object) -> str:
    return "nothing" if told is None else type(told).__name__
