from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.page.anchors import Anchors, anchor
from numa_exporter.page.markup import Markup, join, tag
from tests.page.parsed import parse


def test_text_is_escaped_and_markup_is_not() -> None:
    assert tag("p", "a<b", tag("b", "&")) == "<p>a&lt;b<b>&amp;</b></p>"
    assert join("<", Markup("<hr>"), None, ["&", (Markup("x"),)]) == "&lt;<hr>&amp;x"


def test_attributes() -> None:
    assert tag("a", "x", class_="q", aria_hidden="true", open=True, title=None, href='"') == (
        '<a class="q" aria-hidden="true" open href="&quot;">x</a>'
    )
    assert tag("rect", x=0, width="5%") == '<rect x="0" width="5%"/>'
    assert tag("meta", name="viewport") == '<meta name="viewport">'


def test_a_string_made_of_markup_and_text_is_text_again() -> None:
    assert tag("p", tag("b", "x") + "<i>") == "<p>&lt;b&gt;x&lt;/b&gt;&lt;i&gt;</p>"


@given(st.text(), st.text())
def test_any_text_comes_back_as_that_text(words: str, value: str) -> None:
    plain = dict.fromkeys("\r\x00")  # the parser of HTML itself changes these two
    words, value = words.translate(plain), value.translate(plain)
    (element,) = parse(tag("p", words, title=value)).every()
    assert "".join(c for c in element.children if isinstance(c, str)) == words
    assert element.attributes["title"] == value


@given(st.lists(st.text(max_size=8), min_size=1, max_size=3), st.lists(st.text(max_size=8), min_size=1, max_size=3))
def test_distinct_parts_give_distinct_ids_without_blanks(one: list[str], other: list[str]) -> None:
    assert (anchor("w", *one) == anchor("w", *other)) is (one == other)
    assert anchor("w", *one).isascii()
    assert not set(anchor("w", *one)) & set(" \"'<>#%&")


def test_the_same_id_is_given_out_once() -> None:
    anchors = Anchors()
    assert [anchors.unique("w", "a", "b"), anchors.unique("w", "a", "b")] == ["w-a:b", "w-a:b_2"]
