import pytest

from numa_exporter.formats import memory_tier


@pytest.mark.parametrize(("name", "tier"), [("memory_tier4", 4), ("memory_tier22", 22), ("uevent", None)])
def test_tiers(name: str, tier: int | None) -> None:
    assert memory_tier.tier(name) == tier
