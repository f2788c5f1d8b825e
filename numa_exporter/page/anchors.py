"""Ids of the page's elements: the same at each refresh, unique, and without characters that need care in a URL."""

SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-")


def anchor(prefix: str, *parts: str) -> str:
    """Distinct parts give distinct ids: any other character becomes its code, ":" stands between parts."""
    return "-".join((prefix, ":".join("".join(c if c in SAFE else f"_{ord(c):x}_" for c in part) for part in parts)))


class Anchors:
    """Gives out ids; two workloads that the report cannot tell apart get a count."""

    def __init__(self) -> None:
        self._given: dict[str, int] = {}

    def unique(self, prefix: str, *parts: str) -> str:
        name = anchor(prefix, *parts)
        self._given[name] = self._given.get(name, 0) + 1
        return name if self._given[name] == 1 else f"{name}_{self._given[name]}"
