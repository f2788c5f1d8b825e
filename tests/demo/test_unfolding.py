"""The demo as an agent sees it: silence where all is well, and each fault found when it can be known."""

import pytest

from numa_exporter.model.document import document
from numa_exporter.model.report import Report
from numa_exporter.model.thresholds import Settings
from tests.demo.simulated import NOON, scenario, simulation, warnings, watched

REMOTE = ("memory_remote", "host_buffers_remote", "cpu_remote")
RESTART = -30 * 60.0


def test_the_default_scenario_drifts() -> None:
    simulated = simulation("two-socket-eight-gpu")
    gpus = [gpu.uuid for gpu in simulated.layout.gpus]
    bound_wrong = {(code, gpus[rank]) for rank in (4, 5) for code in (*REMOTE, "policy_off_home")}
    drifted = {(code, gpus[3]) for code in REMOTE}
    first_seen: dict[tuple[str, str | None], float] = {}
    last: Report | None = None
    for moment, report in watched(simulated):
        assert report.placement.host.mode == "simulated"
        assert all(health.up is not False for health in report.health.values())
        for warning in warnings(report):
            first_seen.setdefault(warning, moment)
        last = report
    assert last is not None
    assert warnings(last) == bound_wrong | drifted
    assert max(first_seen[found] for found in bound_wrong) <= -simulated.scenario.past + 6 * 60  # the CPU window
    # Not before its GPU memory stood still for three minutes: a rank that loads may be anywhere.
    assert all(RESTART + 180 < first_seen[found] < RESTART + 10 * 60 for found in drifted)


def test_the_aligned_machine_is_clean() -> None:
    *_, (_, report) = watched(simulation("aligned"), past=600)
    assert warnings(report) == set()
    verdicts = [verdict for rank in report.verdicts.values() for verdict in rank.values()]
    assert len(verdicts) == 21 and all(verdict.misaligned is False for verdict in verdicts)


def test_one_node_is_silent_all_along() -> None:
    looks = 0
    for _, report in watched(simulation("single-node")):
        assert warnings(report) == set()
        assert {found.code for found in report.findings} <= {"single_node", "not_exclusive"}
        ranks = [rank for workload in report.placement.workloads for rank in workload.ranks]
        assert not any(ratio for rank in ranks for ratio in rank.misalignment.values())
        looks += len(ranks) == 2
    assert looks > 150  # of 160: its pod was replaced once


def test_the_right_socket_is_not_remote() -> None:
    simulated = simulation("nps4")
    *_, (_, report) = watched(simulated, past=600)
    assert warnings(report) == {(code, simulated.layout.gpus[7].uuid) for code in REMOTE}
    uuid = simulated.layout.gpus[4].uuid
    near = [rank for workload in report.placement.workloads for rank in workload.ranks if rank.key.uuid == uuid]
    assert near[0].misalignment["memory"] == 0
    assert near[0].mapped_locality[simulated.layout.near(4)] == "socket"


def test_healing_in_place_clears_it() -> None:
    lives = '[{ at = "-20h", remote_memory = 0.5, remote_cpu = 0.5 }, { at = "-15m", restart = false }]'
    simulated = simulation(scenario(f'[[workload]]\nname = "m"\ngpus = [0]\nlife = {lives}'))
    before, after = set(), set()
    for moment, report in watched(simulated):
        if moment < -15 * 60:
            before = warnings(report)
        after = warnings(report)
        started = [rank.start_time for workload in report.placement.workloads for rank in workload.ranks]
        assert started == [pytest.approx(NOON - 20 * 3600 + 6, abs=1)]
    assert {code for code, _ in before} == set(REMOTE)
    assert after == set()


def test_a_kubelet_that_forgets_its_grant() -> None:
    """Nothing restarts; the cpuset changes under a running pod."""
    simulated = simulation("grant-broken")
    codes = {moment: {code for code, _ in warnings(report)} for moment, report in watched(simulated, past=1500)}
    assert codes[-1215] == set()
    assert codes[-1155] == {"grant_broken"}  # lasts 30 s
    assert codes[-15] == {"grant_broken", "cpu_remote"}


def test_sampling_agrees_with_walking() -> None:
    """Page by page through move_pages, or mapping by mapping through numa_maps: one machine."""
    lives = '[{ at = "-20h", remote_memory = [0.0, 0.3] }]'
    simulated = simulation(scenario(f'[[workload]]\nname = "m"\ngpus = [0, 1]\nmemory = "9GiB"\nlife = {lives}'))
    shares: dict[str, dict[str | None, float]] = {}
    for method in ("walk", "sample"):
        *_, (_, report) = watched(simulated, Settings(memory_method=method), past=150)
        ranks = [rank for workload in report.placement.workloads for rank in workload.ranks]
        assert {rank.method for rank in ranks} == {method}
        shares[method] = {rank.key.uuid: rank.misalignment["memory"] for rank in ranks}
    assert len(shares["walk"]) == 2
    for uuid, share in shares["walk"].items():
        assert shares["sample"][uuid] == pytest.approx(share, abs=0.05), uuid


def test_the_same_seed_is_the_same_machine() -> None:
    told = [
        document(report) for _ in range(2) for report in [list(watched(simulation("single-node"), past=300))[-1][1]]
    ]
    assert told[0] == told[1]
    other = list(watched(simulation("single-node", seed=2), past=300))[-1][1]
    assert {gpu["uuid"] for gpu in document(other)["gpus"]}.isdisjoint(gpu["uuid"] for gpu in told[0]["gpus"])
