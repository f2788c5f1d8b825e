"""Whom rank_swapped pairs."""

from tests.builders import sample, task, two_socket
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
