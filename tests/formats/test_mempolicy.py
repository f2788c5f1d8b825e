import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import mempolicy
from numa_exporter.formats.mempolicy import Policy
from numa_exporter.formats.parse_error import ParseError

MODES = ["default", "prefer", "bind", "interleave", "local", "prefer (many)", "weighted interleave", "unknown"]
POLICIES = st.builds(
    Policy,
    mode=st.sampled_from(MODES),
    flags=st.lists(st.sampled_from(["static", "relative", "balancing"]), unique=True).map(tuple),
    nodes=st.frozensets(st.integers(min_value=0, max_value=1023), max_size=40),
)


@given(POLICIES)
def test_what_is_rendered_is_parsed_again(policy: Policy) -> None:
    assert mempolicy.parse(mempolicy.render(policy), "numa_maps") == policy


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        (b"default", Policy(mode="default")),
        (b"local", Policy(mode="local")),
        (b"bind:2-3", Policy(mode="bind", nodes=frozenset({2, 3}))),
        (b"bind=static|balancing:0", Policy(mode="bind", flags=("static", "balancing"), nodes=frozenset({0}))),
        (b"prefer (many)=static:0", Policy(mode="prefer (many)", flags=("static",), nodes=frozenset({0}))),
        (b"weighted interleave:0-1,3", Policy(mode="weighted interleave", nodes=frozenset({0, 1, 3}))),
        (b"prefer=relative:4", Policy(mode="prefer", flags=("relative",), nodes=frozenset({4}))),
        (b"interleave=0-7", Policy(mode="interleave", nodes=frozenset(range(8)))),
        (b"nearest first:9", Policy(mode="nearest first", nodes=frozenset({9}))),
    ],
)
def test_words_of_all_kernels(text: bytes, policy: Policy) -> None:
    assert mempolicy.parse(text, "numa_maps") == policy


@pytest.mark.parametrize(
    "text", [b"", b"bind:", b"bind:a", b"BIND:0", b"bind=:0", b"bind:3-1", b"7f00", b"bind=static|:0"]
)
def test_broken_words(text: bytes) -> None:
    with pytest.raises(ParseError) as caught:
        mempolicy.parse(text, "/proc/1/numa_maps", 7)
    assert (caught.value.path, caught.value.line_number) == ("/proc/1/numa_maps", 7)
