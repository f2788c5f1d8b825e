"""Tests that share a server stay on one worker, if pytest and pytest-xdist understand each other."""

import pytest


@pytest.mark.xdist_group("together")
def test_a_group_is_known_to_the_scheduler(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("loadgroup", default=False):
        pytest.skip("needs --dist loadgroup, as in make test")
    assert request.node.nodeid.endswith("@together")
