"""The past of a Prometheus: where it may begin."""

from deploy.demo.history import BLOCK, STEP, clear_of_boundary


def test_a_past_does_not_begin_just_before_a_block() -> None:
    assert clear_of_boundary(3 * BLOCK - 5) == 3 * BLOCK
    for begin in (3 * BLOCK, 3 * BLOCK - STEP, 3 * BLOCK + 5):
        assert clear_of_boundary(begin) == begin
