import os
import struct
from pathlib import Path

import pytest

from numa_exporter.formats import auxv
from numa_exporter.formats.auxv import Auxv
from numa_exporter.formats.parse_error import ParseError


@pytest.mark.parametrize("word", ["<Q", ">Q", "<I", ">I"])
@pytest.mark.parametrize("page", [4096, 16384, 65536])
def test_every_word_size_and_byte_order(word: str, page: int) -> None:
    pairs = [(33, 0x7FFE1000), (6, page), (17, 100), (25, 0x7FFE1A09), (0, 0)]
    data = b"".join(struct.pack(f"{word}{word[1]}", *pair) for pair in pairs)
    assert auxv.parse(data, "/proc/self/auxv") == Auxv(page_bytes=page, clock_ticks=100)


@pytest.mark.parametrize("data", [b"", b"\0" * 32, b"text, not words", struct.pack("<QQ", 6, 4096)])
def test_broken(data: bytes) -> None:
    with pytest.raises(ParseError):
        auxv.parse(data, "/proc/self/auxv")


def test_this_kernels_own() -> None:
    found = auxv.parse(Path("/proc/self/auxv").read_bytes(), "/proc/self/auxv")
    assert found == Auxv(page_bytes=os.sysconf("SC_PAGE_SIZE"), clock_ticks=os.sysconf("SC_CLK_TCK"))
