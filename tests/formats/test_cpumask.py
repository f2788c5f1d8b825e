import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import cpumask
from numa_exporter.formats.parse_error import ParseError

CPUS = st.frozensets(st.integers(min_value=0, max_value=2047))


def kernel_text(ids: frozenset[int], words: int) -> bytes:
    mask = sum(1 << id_ for id_ in ids)
    return ",".join(f"{mask >> 32 * word & 0xFFFFFFFF:08x}" for word in reversed(range(words))).encode() + b"\n"


@given(CPUS)
def test_hexadecimal_words(ids: frozenset[int]) -> None:
    assert cpumask.parse(kernel_text(ids, 64), "smp_affinity") == ids


@given(CPUS)
def test_affinity_buffers(ids: frozenset[int]) -> None:
    mask = sum(1 << id_ for id_ in ids)
    assert cpumask.from_bytes(mask.to_bytes(256, "little")) == ids
    assert cpumask.from_words(mask >> 64 * word & (1 << 64) - 1 for word in range(32)) == ids


def test_short_forms() -> None:
    assert cpumask.parse(b"1,00000000,00000000\n", "smp_affinity") == {64}
    assert cpumask.parse(b"ffff", "smp_affinity") == set(range(16))
    assert cpumask.parse(b"0\n", "smp_affinity") == set()
    assert cpumask.from_bytes(b"") == set()
    assert cpumask.from_words([]) == set()


@pytest.mark.parametrize("text", [b"", b"0-3", b"ff,ff", b"0x1", b"00000000,", b"fg"])
def test_broken_masks(text: bytes) -> None:
    with pytest.raises(ParseError):
        cpumask.parse(text, "smp_affinity")
