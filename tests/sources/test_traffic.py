import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from numa_exporter.model.machine import Traffic
from numa_exporter.sources.host import HostError
from numa_exporter.sources.live import ForeignTree
from numa_exporter.sources.roots import Roots
from numa_exporter.sources.traffic import TrafficReader
from tests.fakehost import DENIED, fake_host
from tests.sources.machines import CPUS, EMPTY, merged

ROOT = "/sys/fs/resctrl"


def domain(group: str, number: int, total: object, local: object) -> dict[str, str]:
    folder = f"{group}/mon_data/mon_L3_{number:02d}"
    return {f"{folder}/mbm_total_bytes": f"{total}\n", f"{folder}/mbm_local_bytes": f"{local}\n"}


CACHES = merged(
    {f"{CPUS}/online": "0-3\n"},
    {f"{CPUS}/cpu{cpu}/cache/index3/id": f"{cpu // 2}\n" for cpu in range(4)},
    {f"{CPUS}/cpu{cpu}/cache/index3/shared_cpu_list": ("0-1\n", "2-3\n")[cpu // 2] for cpu in range(4)},
)
MACHINE = merged(
    CACHES, domain(ROOT, 0, 1000, 900), domain(ROOT, 1, 500, 100), {f"{ROOT}/info/x": "", f"{ROOT}/cpus": "f\n"}
)


def looks(*frames: Mapping[str, object]) -> list[Traffic]:
    host = fake_host(frames[0], later=frames[1:])  # type: ignore[arg-type]
    reader = TrafficReader()
    values = []
    for _ in frames:
        value = reader.read(host, EMPTY).value
        assert value is not None
        values.append(value)
        host.advance()
    return values


def totals(traffic: Traffic) -> dict[str, tuple[int | None, int | None]]:
    return {each.domain: (each.total_bytes, each.local_bytes) for each in traffic.domains}


def test_domains_with_their_cpus() -> None:
    (traffic,) = looks(MACHINE)
    assert totals(traffic) == {"0": (1000, 900), "1": (500, 100)}
    assert {each.domain: each.cpus for each in traffic.domains} == {"0": {0, 1}, "1": {2, 3}}


def test_control_groups_are_part_of_the_machine_and_monitoring_groups_are_in_them() -> None:
    group = f"{ROOT}/guaranteed"
    inner = domain(f"{group}/mon_groups/pod", 0, 10**9, 10**9)
    (traffic,) = looks({**MACHINE, **domain(group, 0, 30, 20), **inner})
    assert totals(traffic) == {"0": (1030, 920), "1": (500, 100)}


def test_sums_never_fall_when_groups_come_and_go() -> None:
    group = domain(f"{ROOT}/batch", 0, 400, 0)
    with_group = {**MACHINE, **group}
    empty = dict.fromkeys(group, "Unavailable\n")
    values = looks(
        with_group,
        {**domain(ROOT, 0, 1100, 900), **empty},  # the group says nothing: its share stays
        {**domain(ROOT, 0, 1100, 900), **domain(f"{ROOT}/batch", 0, 450, 0)},
        {**domain(ROOT, 0, 50, 10), **domain(f"{ROOT}/batch", 0, 10, 0)},  # mounted anew: counters restarted
        {**domain(ROOT, 0, 70, 10), **domain(f"{ROOT}/batch", 0, 10, 0)},
    )
    assert [totals(value)["0"][0] for value in values] == [1400, 1500, 1550, 1550, 1570]


def test_a_counter_that_never_had_a_value_is_unknown() -> None:
    (traffic,) = looks({**MACHINE, **domain(ROOT, 1, "Unavailable", "Error")})
    assert totals(traffic) == {"0": (1000, 900)}


def test_sub_numa_clusters_are_in_their_domain() -> None:
    sub = {f"{ROOT}/mon_data/mon_L3_00/mon_sub_L3_0{n}/mbm_total_bytes": "500\n" for n in (0, 1)}
    (traffic,) = looks({**MACHINE, **sub})
    assert totals(traffic)["0"] == (1000, 900)


@pytest.mark.parametrize("files", [{}, {f"{ROOT}/.keep": ""}, {f"{ROOT}/schemata": "MB:0=100\n"}])
def test_not_mounted_or_not_monitoring_is_absent(files: dict[str, str]) -> None:
    with pytest.raises(HostError) as raised:
        TrafficReader().read(fake_host(files), EMPTY)
    assert raised.value.word == "absent" and "not mounted" in raised.value.detail


def test_a_bad_counter_fails_alone() -> None:
    for content, word in (("12x\n", "garbled"), (DENIED, "denied")):
        path = f"{ROOT}/mon_data/mon_L3_01/mbm_total_bytes"
        outcome = TrafficReader().read(fake_host({**MACHINE, path: content}), EMPTY)
        assert outcome.failure is not None
        assert outcome.failure.word == word
        assert outcome.value is not None
        assert totals(outcome.value) == {"0": (1000, 900), "1": (None, 100)}


def test_a_captured_resctrl(shared_data: Path, tmp_path: Path) -> None:
    """goresctrl's mock of a four-domain machine with control and monitoring groups."""
    root = tmp_path / "sys" / "fs" / "resctrl"
    root.mkdir(parents=True)
    with tarfile.open(shared_data / "resctrl" / "goresctrl-full.tar.gz") as tar:
        tar.extractall(root, filter="data")
    value = TrafficReader().read(ForeignTree(Roots(rootfs=str(tmp_path))), EMPTY).value
    assert value is not None
    groups = [root, *(path for path in root.iterdir() if (path / "mon_data").is_dir() and path.name != "mon_groups")]
    assert len(groups) > 2
    for each in value.domains:
        files = [path / "mon_data" / f"mon_L3_{int(each.domain):02d}" / "mbm_total_bytes" for path in groups]
        assert each.total_bytes == sum(int(file.read_text()) for file in files)
    assert [each.domain for each in value.domains] == ["0", "1", "2", "3"]
