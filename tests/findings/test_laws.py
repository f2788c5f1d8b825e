"""judge is a pure fold: the same twice, whatever the host said before; and its memory does not grow."""

import copy
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from numa_exporter.findings import judge
from numa_exporter.model.ids import JUDGED
from numa_exporter.model.placement import Ledger
from numa_exporter.model.report import Memory
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import Settings
from numa_exporter.placement.join import join
from tests.builders import GIB, nps4, sample, single_node, task, two_socket
from tests.findings.machines import cgroup
from tests.findings.watch import under, watch

BYTES = st.dictionaries(st.integers(0, 1), st.integers(0, 8 * GIB), max_size=2)


@st.composite
def hosts(draw: st.DrawFn) -> list[Sample]:
    """A few evaluations of a host with one rank, each with other pages, CPU time and policy."""
    parts = draw(st.sampled_from((two_socket(), nps4(), single_node())))
    spent: dict[int, float] = {0: 0.0, 1: 0.0}
    samples = []
    for number in range(draw(st.integers(1, 8))):
        for node in spent:
            spent[node] += draw(st.floats(0, 60))
        mapped: Mapping[str, Mapping[int, int]] = {"anon": draw(BYTES), "shmem_anon": draw(BYTES)}
        rank = task(1, gpus="GPU-0", mapped=mapped, cpu=dict(spent))  # type: ignore[arg-type]
        policy = draw(st.sampled_from(("default", "bind:0", "bind:1", "prefer:1", "interleave:0-1", "something new")))
        limits = cgroup(draw(st.sampled_from(("0-7", "0-15", "16-31", "0-63"))))
        present = (under(rank, policy),) if draw(st.booleans()) or not number else ()
        samples.append(sample(parts, *present, at=60.0 * number, cgroups=(limits,)))
    return samples


@settings(max_examples=60, deadline=None)
@given(hosts())
def test_it_is_deterministic_and_changes_nothing(samples: list[Sample]) -> None:
    chosen, memory, ledger = Settings(), Memory(), Ledger()
    for one in samples:
        placement = join(one, ledger, chosen)
        before = copy.deepcopy((memory, placement))
        judged = judge(memory, placement, chosen)
        assert judged == judge(memory, placement, chosen)
        assert (memory, placement) == before
        memory, ledger = judged.memory, placement.ledger


@settings(max_examples=60, deadline=None)
@given(hosts())
def test_what_holds_of_every_judgement(samples: list[Sample]) -> None:
    chosen, memory, ledger = Settings(), Memory(), Ledger()
    for one in samples:
        placement = join(one, ledger, chosen)
        judged = judge(memory, placement, chosen)
        memory, ledger = judged.memory, placement.ledger
        for dimensions in judged.verdicts.values():
            assert set(dimensions) == set(JUDGED)
            assert all(
                (verdict.misaligned is None) == (verdict.not_judged is not None) for verdict in dimensions.values()
            )
        named = [(finding.code, finding.subject) for finding in judged.findings]
        assert len(named) == len(set(named))
        assert all(finding.since is not None and finding.since <= placement.taken_at for finding in judged.findings)


def test_without_a_machine_nothing_is_judged_and_memory_waits() -> None:
    before = watch(lambda at: sample(two_socket(), task(1, gpus="GPU-0", mapped={"anon": {1: 9 * GIB}}), at=at), 45)[-1]
    blind = join(sample(two_socket(), at=60, topology=None), Ledger(), Settings())
    judged = judge(before.memory, blind, Settings())
    assert (judged.memory, judged.verdicts, judged.findings) == (before.memory, {}, ())


def test_memory_does_not_grow() -> None:
    """Workloads that come and go for a day leave nothing."""

    def script(at: float) -> Sample:
        name = f"/system.slice/job-{int(at / 120)}.service"
        return sample(two_socket(), task(int(at) + 1, gpus="GPU-0", cgroup=name, mapped={"anon": {1: 9 * GIB}}), at=at)

    memory = watch(script, 86_400, step=60)[-1].memory
    assert len(memory.streaks) <= 10
    assert len(memory.steady) == 1
    assert len(memory.looks) <= 6
