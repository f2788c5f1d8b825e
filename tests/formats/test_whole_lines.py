from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats.whole_lines import batches

LINES = st.lists(st.binary(min_size=1, max_size=12).map(lambda line: line.replace(b"\n", b"x")), max_size=40)


@given(LINES, st.integers(min_value=1, max_value=50), st.integers(min_value=1, max_value=64), st.booleans())
def test_no_cut_and_no_batch_size_changes_the_lines(lines: list[bytes], cut: int, size: int, ended: bool) -> None:
    text = b"\n".join(lines) + (b"\n" if lines and ended else b"")
    blocks = [text[at : at + cut] for at in range(0, len(text), cut)]
    found = list(batches(blocks, size))
    assert [line for batch in found for line in batch] == lines
    assert all(found)


def test_lines_come_before_the_file_ends() -> None:
    blocks = iter([b"a\nb\nc", b"d\n"])
    assert next(batches(blocks, 4)) == [b"a", b"b"]
    assert next(blocks) == b"d\n"
