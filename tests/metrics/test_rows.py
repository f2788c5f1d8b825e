"""Every row from placements made by hand: known zeros are there, unknown is not, nobody is there twice."""

import math
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics_families
from prometheus_client.parser import text_string_to_metric_families as text_families

from numa_exporter.formats.pci_address import PciAddress
from numa_exporter.metrics import TABLE
from numa_exporter.metrics.exposition import Families, families, open_metrics, text
from numa_exporter.model.gpus import MigInstance
from numa_exporter.model.processes import Cgroup, GpuEvidence
from numa_exporter.model.sample import Sample
from tests.builders import (
    GIB,
    VLLM,
    container,
    gb200,
    memory_only,
    nps4,
    sample,
    single_node,
    task,
    two_socket,
)
from tests.metrics.scenes import crowded, exposed, report, view
from tests.placement.test_laws import SPECS, Spec, tasks

Series = dict[tuple[tuple[str, str], ...], float]


def series(found: Families, name: str, **labels: str) -> Series:
    """Values of a metric by its other labels, of the series that have these."""
    told: Series = {}
    for metric in found.metrics:
        for one in metric.samples:
            if one.name == name and labels.items() <= one.labels.items():
                rest = {key: value for key, value in one.labels.items() if key not in labels}
                told[tuple(sorted(rest.items()))] = one.value
    return told


def by(found: Families, name: str, label: str, **labels: str) -> dict[str | None, float]:
    """Values of a metric by one label."""
    return {dict(key).get(label): value for key, value in series(found, name, **labels).items()}


def names(found: Families) -> set[str]:
    return {one.name for metric in found.metrics for one in metric.samples}


RANK = {"unit": "vllm.service", "uuid": "GPU-0"}


class TestKnownZeros:
    def test_local_and_remote_always(self) -> None:
        found = exposed(sample(two_socket(), task(1, gpus="GPU-0", mapped={"anon": {0: GIB}}, cpu={0: 1.0})))
        assert series(found, "numa_rank_mapped_bytes", **RANK, backing="anon") == {
            (("locality", "local"), ("numa_node", "0")): GIB,
            (("locality", "remote"), ("numa_node", "1")): 0,
        }
        assert by(found, "numa_rank_cpu_seconds_total", "locality", **RANK) == {"local": 1.0, "remote": 0.0}
        assert by(found, "numa_rank_threads", "locality", **RANK) == {"local": 1, "remote": 0}
        assert by(found, "numa_rank_allowed_cpus", "locality", **RANK) == {"local": 32, "remote": 32}

    def test_socket_where_a_socket_has_several_nodes(self) -> None:
        found = exposed(sample(nps4(), task(1, gpus="GPU-0", mapped={"anon": {0: GIB}}, allowed="0-7")))
        assert by(found, "numa_rank_allowed_cpus", "locality", **RANK) == {"local": 8, "socket": 0, "remote": 0}
        told = series(found, "numa_rank_mapped_bytes", **RANK, backing="anon")
        assert [dict(key)["locality"] for key in sorted(told, key=lambda key: int(dict(key)["numa_node"]))] == [
            "local", "socket", "socket", "socket", "remote", "remote", "remote", "remote"
        ]  # fmt: skip

    def test_nodes_without_cpus_only_where_there_is_something(self) -> None:
        held = task(1, gpus="GPU-0", mapped={"anon": {0: GIB}, "driver": {2: GIB, 26: GIB}})
        cgroup = Cgroup(path=VLLM, version=2, charged={"anon": dict.fromkeys(range(34), 0) | {0: 7, 10: 5}})
        found = exposed(sample(gb200(), held, cgroups=[cgroup]))
        assert by(found, "numa_rank_mapped_bytes", "numa_node", **RANK, backing="anon") == {"0": GIB, "1": 0}
        assert series(found, "numa_rank_mapped_bytes", **RANK, backing="driver") == {
            (("locality", "local"), ("numa_node", "0")): 0,
            (("locality", "remote"), ("numa_node", "1")): 0,
            (("locality", "device"), ("numa_node", "2")): GIB,
            (("locality", "remote"), ("numa_node", "26")): GIB,
        }
        assert by(found, "numa_workload_charged_bytes", "numa_node") == {"0": 7, "1": 0, "10": 5}
        assert set(by(found, "numa_node_memory_bytes", "numa_node")) == {"0", "1", "2", "10", "18", "26"}
        assert set(by(found, "numa_node_cpus", "numa_node")) == {"0", "1"}
        assert len(series(found, "numa_node_info", kind="gpu")) == 32

    def test_a_node_whose_meminfo_could_not_be_read_has_memory_all_the_same(self) -> None:
        parts = two_socket()
        nodes = tuple(replace(one, memory=None) for one in parts.topology.nodes)
        held = task(1, gpus="GPU-0", mapped={"anon": {0: GIB}})
        found = exposed(sample(parts.change_topology(nodes=nodes), held))
        assert "numa_node_memory_bytes" not in names(found)
        assert len(series(found, "numa_node_distance")) == 4
        assert by(found, "numa_rank_mapped_bytes", "numa_node", **RANK, backing="anon") == {"0": GIB, "1": 0}

    def test_cxl_memory_is_shown_where_it_is_used(self) -> None:
        found = exposed(sample(memory_only(), task(1, gpus="GPU-0", mapped={"anon": {2: GIB, 3: GIB}})))
        assert series(found, "numa_rank_mapped_bytes", **RANK) == {
            (("backing", "anon"), ("locality", "local"), ("numa_node", "0")): 0,
            (("backing", "anon"), ("locality", "remote"), ("numa_node", "1")): 0,
            (("backing", "anon"), ("locality", "socket"), ("numa_node", "2")): GIB,
            (("backing", "anon"), ("numa_node", "3")): GIB,  # as near to one socket as to the other
        }

    def test_a_gpu_with_unknown_affinity_says_so(self) -> None:
        address = PciAddress(domain=0, bus=0x8D, device=0, function=0)
        moved = two_socket(2).change_gpus(function=None, nvml_address=address)
        found = exposed(sample(moved, task(1, gpus="GPU-0")))
        assert series(found, "numa_gpu_info", pci_bus_id="00000000:8D:00.0"), "sysfs lacks it, NVML does not"
        assert series(found, "numa_gpu_affinity_known") == {(("uuid", "GPU-0"),): 0, (("uuid", "GPU-1"),): 0}
        assert "numa_gpu_affinity_info" not in names(found)


class TestUnknown:
    """Not exposed: no 0, no -1, no NaN."""

    def test_a_home_nobody_knows(self) -> None:
        held = task(1, gpus="GPU-0", mapped={"anon": {0: GIB}}, cpu={0: 1.0, 1: 2.0})
        found = exposed(sample(two_socket(2).change_gpus(function=None), held))
        hidden = {
            "numa_rank_home_info",
            "numa_rank_misalignment_ratio",
            "numa_rank_misaligned",
            "numa_rank_threads",
            "numa_rank_allowed_cpus",
            "numa_workload_cpuset_cpus",
            "numa_workload_gpu_sockets",
            "numa_workload_gpu_numa_nodes",
        }
        assert not hidden & names(found)
        assert series(found, "numa_rank_mapped_bytes", **RANK) == {(("backing", "anon"), ("numa_node", "0")): GIB}
        assert by(found, "numa_rank_cpu_seconds_total", "numa_node", **RANK) == {"0": 1.0, "1": 2.0}

    def test_a_process_nobody_could_read(self) -> None:
        found = exposed(sample(two_socket(), task(1, gpus="GPU-0")))
        assert series(found, "numa_rank_home_info", **RANK) == {(("numa_node", "0"), ("socket", "0")): 1}
        shown = {name for name in names(found) if name.startswith("numa_rank_")}
        assert shown == {"numa_rank_home_info", "numa_rank_start_time_seconds", "numa_rank_misalignment_ratio"}
        assert by(found, "numa_rank_misalignment_ratio", "dimension") == {"gpu_spread": 0.0}

    def test_a_home_that_covers_every_socket(self) -> None:
        held = task(1, gpus={"GPU-0": 40 * GIB, "GPU-7": 40 * GIB}, mapped={"anon": {1: GIB}}, cpu={0: 1.0})
        found = exposed(sample(two_socket(), held))
        assert by(found, "numa_rank_misalignment_ratio", "dimension") == {"gpu_spread": 0.5}
        assert "numa_rank_misaligned" not in names(found)

    def test_sockets_nobody_knows(self) -> None:
        found = exposed(sample(two_socket().change_topology(packages={}), task(1, gpus="GPU-0", cpu={0: 1.0})))
        assert all("socket" not in dict(key) for key in series(found, "numa_node_info"))
        assert "numa_socket_cpu_utilization_ratio" not in names(found)
        assert "numa_rank_misaligned" not in names(found)

    def test_used_bytes_that_the_driver_does_not_tell(self) -> None:
        assert "numa_gpu_holding_bytes" not in names(exposed(sample(two_socket(), task(1, gpus={"GPU-0": None}))))

    def test_processes_that_nobody_could_see_are_not_none(self) -> None:
        assert set(series(exposed(sample(two_socket())), "numa_exporter_gpu_processes").values()) == {0}
        blind = exposed(replace(sample(two_socket()), processes=None))
        assert "numa_exporter_gpu_processes" not in names(blind)

    def test_without_a_machine_only_the_agent_speaks(self) -> None:
        found = exposed(sample(two_socket(), topology=None))
        assert all(name.startswith(("numa_exporter_", "process_")) for name in names(found))

    def test_one_socket_is_never_against_the_grain(self) -> None:
        held = task(1, gpus="GPU-0", mapped={"anon": {0: 4 * GIB}}, cpu={0: 1.0})
        found = exposed(sample(single_node(), held))
        assert set(by(found, "numa_rank_misaligned", "dimension").values()) == {0.0}
        assert by(found, "numa_rank_misalignment_ratio", "dimension")["memory"] == 0.0


class TestWhoHoldsAGpu:
    def held(self, *samples: Sample) -> Series:
        return series(exposed(*samples), "numa_gpu_workload_info")

    def test_main_and_stray(self) -> None:
        held = self.held(sample(two_socket(), task(1, gpus={"GPU-0": 40 * GIB, "GPU-4": GIB // 2})))
        assert held == {
            (
                ("evidence", "nvml"), ("rank", "GPU-0"), ("role", "main"), ("unit", "vllm.service"), ("uuid", "GPU-0"),
            ): 1,
            (
                ("evidence", "nvml"), ("rank", "GPU-0"), ("role", "stray"), ("unit", "vllm.service"), ("uuid", "GPU-4"),
            ): 1,
        }  # fmt: skip

    def test_an_observer_is_one_with_its_evidence(self) -> None:
        dcgm = task(9, gpus={"GPU-0": None, "GPU-1": None}, comm="nv-hostengine", cgroup="/system.slice/dcgm.service")
        held = self.held(sample(two_socket(), dcgm, task(1, gpus="GPU-0")))
        assert {key: value for key, value in held.items() if ("unit", "dcgm.service") in key} == {
            (("evidence", "nvml"), ("role", "observer"), ("unit", "dcgm.service"), ("uuid", uuid)): 1
            for uuid in ("GPU-0", "GPU-1")
        }

    def test_an_observer_beside_the_engine_in_one_container_gives_way(self) -> None:
        beside = task(9, gpus="GPU-0", comm="nvtop")
        ((key, value),) = self.held(sample(two_socket(), beside, task(1, gpus="GPU-0"))).items()
        assert (dict(key)["role"], dict(key)["rank"], value) == ("main", "GPU-0", 1)

    def test_an_observer_without_a_workload_is_left_to_the_document(self) -> None:
        one = sample(two_socket(), task(9, gpus="GPU-0", comm="nvtop", cgroup="/", container_cgroup=None))
        nameless = replace(one.processes.processes[0], cgroup=None)  # type: ignore[union-attr]
        made = report(replace(one, processes=replace(one.processes, processes=(nameless,))))  # type: ignore[type-var]
        assert [seen.comm for seen in made.placement.observers] == ["nvtop"]
        assert series(families(TABLE, view(made)), "numa_gpu_workload_info") == {}

    def test_mig_instances_apart(self) -> None:
        mig = tuple(MigInstance(uuid=f"MIG-{number}", gpu_instance_id=number) for number in (1, 2))
        parts = two_socket(1).change_gpus(mig=mig, mig_enabled=True)
        evidence = tuple(
            GpuEvidence(uuid="GPU-0", evidence="nvml", gpu_instance_id=one.gpu_instance_id, mig_uuid=one.uuid)
            for one in mig
        )
        process = replace(task(1, gpus="GPU-0"), process=replace(task(1).process, evidence=evidence))
        held = self.held(sample(parts, process))
        assert {(dict(key)["mig_uuid"], dict(key)["gpu_instance_id"]) for key in held} == {
            ("MIG-1", "1"),
            ("MIG-2", "2"),
        }

    def test_bytes_of_a_workload_on_a_gpu_add_up(self) -> None:
        both = task(1, gpus={"GPU-0": 3 * GIB}), task(2, gpus={"GPU-0": 4 * GIB})
        assert by(exposed(sample(two_socket(), *both)), "numa_gpu_holding_bytes", "uuid") == {"GPU-0": 7 * GIB}


class TestWorkloads:
    def test_charged_and_mapped_stay_apart(self) -> None:
        cgroup = Cgroup(
            path=VLLM, version=2, cpus=frozenset(range(16)), mems=frozenset({0, 1}), charged={"anon": {0: 5}}
        )
        held = task(1, gpus="GPU-0", mapped={"anon": {1: 7}})
        found = exposed(sample(two_socket(), held, cgroups=[cgroup]))
        assert series(found, "numa_workload_charged_bytes", unit="vllm.service") == {
            (("backing", "anon"), ("numa_node", "0")): 5
        }
        assert by(found, "numa_workload_cpuset_cpus", "locality") == {"local": 16, "remote": 0}
        assert series(found, "numa_workload_cpuset_numa_nodes") == {(("unit", "vllm.service"),): 1}
        assert series(found, "numa_workload_cpuset_mems") == {(("unit", "vllm.service"),): 2}

    def test_the_identity_of_a_container(self) -> None:
        found = exposed(sample(two_socket(), task(1, gpus="GPU-0", cgroup=container("a"))))
        ((key, _),) = series(found, "numa_workload_info").items()
        labels = dict(key)
        assert labels["container_id"] == "a" * 64 and labels["runtime"] == "containerd"
        assert labels["pod_uid"] == "068e8fa0-9213-11e7-a01f-507b9d4141fa"

    def test_spread_of_the_gpus(self) -> None:
        held = task(1, gpus={"GPU-0": 40 * GIB, "GPU-7": 40 * GIB})
        found = exposed(sample(two_socket(), held))
        assert list(series(found, "numa_workload_gpu_sockets").values()) == [2]
        assert list(series(found, "numa_workload_gpu_numa_nodes").values()) == [2]


def machines() -> Mapping[str, Sample]:
    return {
        "two_socket": crowded(two_socket(), 4),
        "nps4": crowded(nps4(), 4),
        "gb200": crowded(gb200(), 4),
        "single_node": crowded(single_node(), 1),
        "memory_only": crowded(memory_only(), 2),
        "no_gpu": sample(two_socket(0)),
        "unread": sample(two_socket(), topology=None),
    }


@pytest.mark.parametrize("name", machines())
def test_both_formats_say_the_same_and_no_series_twice(name: str) -> None:
    found = exposed(machines()[name])
    plain = [one for metric in text_families(text(found).decode()) for one in metric.samples]
    opened = [one for metric in open_metrics_families(open_metrics(found).decode()) for one in metric.samples]
    keys = [(one.name, *sorted(one.labels.items())) for one in plain]
    assert len(keys) == len(set(keys)) == found.series
    assert sorted(keys) == sorted((one.name, *sorted(one.labels.items())) for one in opened)
    assert all(math.isfinite(one.value) and one.value >= 0 for one in plain)
    assert not [key for key in keys if any(value in ("", "None", "-1") for _, value in key[1:])]


@pytest.mark.parametrize("name", machines())
def test_promtool_has_nothing_to_say(name: str, need_tool: Callable[[str, str], str]) -> None:
    page = text(exposed(machines()[name]))
    done = subprocess.run(
        [need_tool("promtool", "prometheus"), "check", "metrics"], input=page, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@given(st.lists(SPECS, max_size=6))
def test_no_mix_of_processes_exposes_a_series_twice(specs: list[Spec]) -> None:
    found = exposed(sample(two_socket(), *tasks(specs)))
    holders = {one.labels["uuid"] for metric in found.metrics for one in metric.samples if "rank" in one.labels}
    assert holders <= {f"GPU-{number}" for gpus, *_ in specs for number in gpus}


def test_past_the_limit_the_agent_still_says_how_it_fares() -> None:
    found = families(TABLE, view(report(crowded(two_socket(), 4))), max_series=10)
    assert len(series(found, "numa_exporter_source_up")) == len(view(report(sample(two_socket()))).report.health)
    assert found.dropped["numa_rank_mapped_bytes"] > 0
    assert "numa_exporter_source_up" not in found.dropped
