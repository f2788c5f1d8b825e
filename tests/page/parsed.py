"""A page or a piece of one, read back as a browser would: elements with their attributes and text."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

CHILDLESS = {"meta", "rect", "path", "circle"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    parent: "Element | None" = None
    children: "list[Element | str]" = field(default_factory=list)

    def every(self, *tags: str) -> "list[Element]":
        return [element for element in self._walk() if not tags or element.tag in tags]

    def with_class(self, name: str) -> "list[Element]":
        return [element for element in self._walk() if name in element.attributes.get("class", "").split()]

    @property
    def text(self) -> str:
        """Its words with no-break spaces as spaces, so that a test reads like the page."""
        parts = (child if isinstance(child, str) else child.text for child in self.children)
        return "".join(parts).replace("\u00a0", " ")

    def _walk(self) -> "Iterator[Element]":
        for child in self.children:
            if isinstance(child, Element):
                yield child
                yield from child._walk()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("", {})
        self.open = self.root

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs}, self.open)
        assert len(element.attributes) == len(attrs), f"<{tag}> has an attribute twice"
        self.open.children.append(element)
        if tag not in CHILDLESS:
            self.open = element

    def handle_endtag(self, tag: str) -> None:
        if tag in CHILDLESS:
            return
        assert self.open.tag == tag, f"</{tag}> closes <{self.open.tag}>"
        assert self.open.parent is not None
        self.open = self.open.parent

    def handle_data(self, data: str) -> None:
        self.open.children.append(data)


def parse(html: str) -> Element:
    """The tree; fails where an element is not closed as it was opened."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert reader.open is reader.root, f"<{reader.open.tag}> is never closed"
    return reader.root
