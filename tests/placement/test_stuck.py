"""Contract §1: when NVML gets stuck, the last holdings of still-living processes stay for ten minutes at most."""

from dataclasses import replace

from numa_exporter.model.placement import Placement
from numa_exporter.model.sample import Sample
from tests.builders import Task, gpu, placed, sample, task, two_socket

HOLDER = task(1, gpus="GPU-7")
FORGOTTEN = replace(HOLDER, process=replace(HOLDER.process, evidence=()))


def silent(*tasks: Task, at: float) -> Sample:
    """NVML does not come back: the source has no value any more."""
    return sample(two_socket(), *tasks, at=at, gpus=None)


def ranks(placement: Placement) -> list[tuple[str | None, list[int]]]:
    return [
        (rank.key.uuid, [process.key.pid for process in rank.processes])
        for workload in placement.workloads
        for rank in workload.ranks
    ]


def test_the_last_holdings_stay() -> None:
    found = placed(sample(two_socket(), HOLDER), silent(FORGOTTEN, at=60))
    rank = found.workloads[0].ranks[0]
    assert (rank.key.uuid, rank.home) == ("GPU-7", {1})
    assert rank.low_confidence == "NVML last listed its contexts 60 s ago"
    assert found.machine is not None and len(found.machine.gpus) == 8


def test_for_ten_minutes_at_most() -> None:
    looks = [silent(FORGOTTEN, at=at) for at in range(60, 661, 60)]
    assert ranks(placed(sample(two_socket(), HOLDER), *looks[:10])) == [("GPU-7", [1])]
    assert ranks(placed(sample(two_socket(), HOLDER), *looks)) == []


def test_only_of_the_living() -> None:
    reborn = replace(FORGOTTEN, process=replace(FORGOTTEN.process, key=FORGOTTEN.process.key._replace(start_ticks=999)))
    assert ranks(placed(sample(two_socket(), HOLDER), silent(reborn, at=15))) == []
    assert ranks(placed(sample(two_socket(), HOLDER), silent(at=15), silent(FORGOTTEN, at=30))) == []


def test_a_process_that_left_its_gpu_while_nvml_answers_has_left_it() -> None:
    assert ranks(placed(sample(two_socket(), HOLDER), sample(two_socket(), FORGOTTEN, at=15))) == []


def test_one_lost_gpu_does_not_hide_the_others() -> None:
    half = two_socket().with_gpus(*(gpu(index, index // 4) for index in range(7)), replace(gpu(7, 1), contexts=None))
    other = task(2, gpus="GPU-0")
    left = replace(other, process=replace(other.process, evidence=()))
    found = placed(sample(two_socket(), HOLDER, other), sample(half, FORGOTTEN, left, at=15))
    assert ranks(found) == [("GPU-7", [1])], "GPU-0 answers, and says that nobody holds it"


def test_open_files_do_not_step_in() -> None:
    """NVML was there at the start: what a process has opened says no more than what it may use."""
    opened = task(1, gpus={f"GPU-{index}": None for index in range(8)}, evidence="fd")
    found = placed(sample(two_socket(), HOLDER), silent(opened, at=15))
    assert ranks(found) == [("GPU-7", [1])]
    assert ranks(placed(sample(two_socket(), HOLDER), silent(opened, at=3600))) == []


def test_an_observer_stays_an_observer() -> None:
    server = task(1, gpus="GPU-0", comm="nvidia-cuda-mps")
    quiet = replace(server, process=replace(server.process, evidence=()))
    found = placed(sample(two_socket(), server), silent(quiet, at=15))
    assert found.workloads == () and [seen.gpus for seen in found.observers] == [("GPU-0",)]


def test_without_processes_nothing_is_forgotten() -> None:
    blind = replace(silent(at=15), processes=None)
    assert ranks(placed(sample(two_socket(), HOLDER), blind, silent(FORGOTTEN, at=30))) == [("GPU-7", [1])]


def test_without_topology_nothing_is_placed_and_the_ledger_is_kept() -> None:
    before = placed(sample(two_socket(), HOLDER))
    blind = placed(sample(two_socket(), HOLDER), replace(sample(two_socket(), HOLDER, at=15), topology=None))
    assert blind.machine is None and blind.workloads == ()
    assert blind.ledger == before.ledger
