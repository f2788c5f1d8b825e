"""Whom rank_swapped pairs."""

from tests.builders import GIB, gb200, sample, task, two_socket
from tests.findings.watch import last, of

BATCH = "/system.slice/batch.service"


def test_a_workload_is_swapped_with_itself_before_others() -> None:
    """batch.service comes first by its name and would do as a partner for either."""
    found = of(
        last(
            lambda at: sample(
                two_socket(),
                task(3, gpus="GPU-1", cpu={1: at}, cgroup=BATCH),
                task(1, gpus="GPU-0", cpu={1: at}),
                task(2, gpus="GPU-7", cpu={0: at}),
                at=at,
            )
        ),
        "rank_swapped",
    )
    assert {str(finding.subject.workload) for finding in found} == {"vllm.service"}
    assert {finding.subject.uuid for finding in found} == {"GPU-0", "GPU-7"}


def test_pages_on_its_own_gpu_say_nothing_of_where_the_others_are() -> None:
    """GB200: the HBM of each rank's GPU is a node, and holds far more than what was swapped."""
    first = task(1, gpus="GPU-0", mapped={"anon": {1: 4 * GIB, 2: 100 * GIB}})
    second = task(2, gpus="GPU-2", mapped={"anon": {0: 4 * GIB, 18: 100 * GIB}})
    found = of(last(lambda at: sample(gb200(), first, second, at=at)), "rank_swapped")
    assert [finding.value for finding in found] == [1.0, 1.0]
