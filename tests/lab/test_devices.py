"""Devices of a machine that passes for a real one, and a host without NVML: one boot."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tests.lab.observation import LIMITS, Json, Observation, observe
from tests.lab.runner import Lab
from tests.lab.workloads import DEVICES

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def seen(lab: Callable[..., Lab]) -> Observation:
    """On each node a GPU on one switch with a NIC, another in a slot of 8 lanes. CPU 3, of node 1, serves the NICs.

    Ranks are old enough by their age alone: without NVML nobody knows whether their GPU memory is steady.
    """
    machine = lab("2s2n-lean", devices=("nvidia/net", "nvidia:8"), guest=False, append="numa_balancing=disable")
    blind = ["without-nvml", "report", "--json"]
    limits = {**LIMITS, "rank-age-seconds": "1"}
    return observe(machine, list(DEVICES), options=["--interrupts", "3"], runs=[blind], limits=limits)


def found(document: Json, code: str) -> Iterator[Json]:
    return (finding for finding in document["findings"] if finding["code"] == code)


def test_a_machine_that_is_no_guest_and_does_not_balance(seen: Observation) -> None:
    assert not seen.document["machine"]["virtual"]
    assert {finding.split()[1] for finding in seen.findings()} == {"pcie_degraded"}


def test_lanes(seen: Observation) -> None:
    """All GPUs use 8 of 16 lanes, two of them because their slots have no more."""
    degraded = [finding["subject"]["uuid"][-1] for finding in found(seen.document, "pcie_degraded")]
    assert degraded == ["0", "2"]


def test_interrupts(seen: Observation) -> None:
    """Of two ranks, each with a busy NIC beside its GPU, one is told: the other's is served at home."""
    told = {finding["subject"]["uuid"][-1]: finding for finding in found(seen.document, "irq_remote")}
    assert list(told) == ["0"]
    assert told["0"]["value"] == 1
    assert seen.findings("near_nic") == ["info gpus_span_sockets", "info irq_remote"]


def test_without_nvml(seen: Observation) -> None:
    """Open files are all that is known: of who has every GPU open nothing can be judged, of who has one it can."""
    blind = replace(seen, document=json.loads(seen.runs[0]["stdout"]))
    assert blind.findings("opens_all") == ["info device_opened_everywhere"]
    assert blind.findings("opens_one") == ["warning memory_remote", "warning policy_off_home"]
    ((rank, _),) = blind.told("opens_one")
    assert rank["low_confidence"] == "known by open files only"
