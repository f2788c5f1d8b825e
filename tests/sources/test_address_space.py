"""What a process maps, however much that is."""

import pytest

from numa_exporter.sources import address_space
from numa_exporter.sources.host import HostError
from tests.fakehost import fake_host

LINE = "7f0000000000-7f0000001000 rw-p 00000000 00:00 0\n"


def test_maps_longer_than_any_file_may_be_are_garbled(monkeypatch: pytest.MonkeyPatch) -> None:
    """vm.max_map_count may be raised without end, and a captured tree may hold anything."""
    host = fake_host({"/proc/42/mountinfo": "", "/proc/42/maps": LINE * 1000})
    assert address_space.read(host, 42).mappings == 1000
    monkeypatch.setattr(address_space, "READ_LIMIT", 999 * len(LINE))
    with pytest.raises(HostError) as refused:
        address_space.read(host, 42)
    assert (refused.value.word, refused.value.path) == ("garbled", "/proc/42/maps")
