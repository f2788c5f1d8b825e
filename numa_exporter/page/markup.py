"""HTML that cannot be forgotten to be escaped: a plain `str` is text, only `Markup` is markup.

Every string from the host (pod names, command names, evidence lines) reaches the page through `tag`, which escapes
whatever is not `Markup`. Concatenating a `Markup` with a `str` gives a `str`, which is escaped again: visible, not
dangerous.
"""

from collections.abc import Iterable
from html import escape
from typing import TypeAlias


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Child: TypeAlias = "str | Iterable[Child] | None"
Attribute: TypeAlias = str | int | float | bool | None

NOTHING = Markup("")
VOID = frozenset({"meta"})
SELF_CLOSING = frozenset({"rect", "path", "circle"})


def join(*children: Child, separator: str = "") -> Markup:
    """The children one after another, those that are not `Markup` escaped; None is left out."""
    return Markup(separator.join(_flatten(children)))


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """One element. Attributes: `class_` is class, `aria_hidden` is aria-hidden, None and False are left out."""
    head = name + "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Markup(f"<{head}>")
    if name in SELF_CLOSING:
        return Markup(f"<{head}/>")
    return Markup(f"<{head}>{join(*children)}</{name}>")


def hidden_text(text: str) -> Markup:
    """Words for screen readers only."""
    return tag("span", text, class_="spoken")


def _flatten(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if isinstance(child, Markup):
            yield child
        elif isinstance(child, str):
            yield escape(child)
        elif child is not None:
            yield from _flatten(child)


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
