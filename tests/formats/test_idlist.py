import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import idlist
from numa_exporter.formats.parse_error import ParseError


@given(st.frozensets(st.integers(min_value=0, max_value=4096)))
def test_what_is_rendered_is_parsed_again(ids: frozenset[int]) -> None:
    assert idlist.parse(idlist.render(ids), "cpulist") == ids
    assert idlist.parse(idlist.render(ids).encode() + b"\n", "cpulist") == ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (b"0-3,8,10-11\n", {0, 1, 2, 3, 8, 10, 11}),
        (b"0\n", {0}),
        (b"", set()),
        (b"\n", set()),
        (b"0-10:2/4\n", {0, 1, 4, 5, 8, 9}),
        (b"3-9:1/2", {3, 5, 7, 9}),
        (b"0-3:0/2", set()),
        (b"0 2, 4-5", {0, 2, 4, 5}),
        (b"0,3-9,11-17", {0, *range(3, 10), *range(11, 18)}),
        (b"250-255", set(range(250, 256))),
        (b"3,1,2-3", {1, 2, 3}),
    ],
)
def test_lists_of_the_kernel(text: bytes, ids: set[int]) -> None:
    assert idlist.parse(text, "cpulist") == ids


def test_more_than_64_nodes_and_1024_cpus() -> None:
    assert len(idlist.parse("0-1151", "online")) == 1152
    assert max(idlist.parse("0-1,64-127,1023", "online")) == 1023


@pytest.mark.parametrize(
    ("ids", "text"),
    [([], ""), ([5], "5"), ([1, 0], "0-1"), ([0, 1, 2, 8, 10, 11], "0-2,8,10-11"), ([4, 4, 5], "4-5")],
)
def test_rendering_is_canonical(ids: list[int], text: str) -> None:
    assert idlist.render(set(ids)) == text


@pytest.mark.parametrize(
    "text",
    [
        b"3-1",
        b"a",
        b"0-",
        b"-1",
        b"1-2-3",
        b"5:1/2",
        b"0-8:3/2",
        b"0-8:1/0",
        b"0x3",
        b"0-4000000000",
        b"\xff",
        b"9" * 5000,
    ],
)
def test_what_the_kernel_would_refuse_is_an_error(text: bytes) -> None:
    with pytest.raises(ParseError) as caught:
        idlist.parse(text, "/sys/devices/system/node/online")
    assert caught.value.path == "/sys/devices/system/node/online"


def test_a_nul_behind_the_newline() -> None:
    assert idlist.parse(b"0-7\n\0", "/sys/devices/system/node/online") == frozenset(range(8))
