"""Laws of the join: pure, blind to the names of nodes, and more processes never make less."""

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.model.ids import Backing
from numa_exporter.model.placement import Ledger, Placement, Rank
from numa_exporter.model.thresholds import Settings
from numa_exporter.placement.join import join
from tests.builders import ONE_GPU, Parts, Task, container, gpu, node, placed, sample, task, topology, two_socket

Spec = tuple[frozenset[int], str, dict[int, int], dict[int, float]]

BY_NODE = st.dictionaries(st.sampled_from([0, 1]), st.integers(0, 1 << 36))
SPECS: st.SearchStrategy[Spec] = st.tuples(
    st.frozensets(st.integers(0, 7), max_size=3),
    st.sampled_from(["a", "b"]),
    BY_NODE,
    st.dictionaries(st.sampled_from([0, 1]), st.floats(0.0, 1e6)),
)


def tasks(specs: list[Spec], rename: Mapping[int, int] | None = None) -> list[Task]:
    """Processes of two containers; ``rename``: node ids by those of two_socket()."""
    name = rename or {0: 0, 1: 1}
    found = []
    for pid, (gpus, digit, pages, seconds) in enumerate(specs, 1):
        anon: dict[Backing, dict[int, int]] = {"anon": {name[on]: count for on, count in pages.items()}}
        found.append(
            task(
                pid,
                gpus={f"GPU-{number}": ONE_GPU for number in gpus},
                cgroup=container(digit),
                mapped=anon,
                cpu={name[on]: spent for on, spent in seconds.items()},
                allowed="0-31",
            )
        )
    return found


def renamed(rename: Mapping[int, int]) -> Parts:
    """two_socket() whose nodes have other ids."""
    zero, one = rename[0], rename[1]
    nodes = node(zero, "0-15,32-47", {zero: 10, one: 21}), node(one, "16-31,48-63", {zero: 21, one: 10})
    cards = (gpu(number, rename[number // 4]) for number in range(8))
    return replace(two_socket(), topology=topology(*nodes, packages={zero: 0, one: 1})).with_gpus(*cards)


def everyone(placement: Placement) -> list[Rank]:
    return [rank for work in placement.workloads for rank in (*work.ranks, *([work.helpers] if work.helpers else []))]


def mapped_bytes(placement: Placement) -> int:
    return sum(
        count for rank in everyone(placement) for by_node in (rank.mapped or {}).values() for count in by_node.values()
    )


def cpu_seconds(placement: Placement) -> float:
    return sum(seconds for rank in everyone(placement) for seconds in rank.cpu.seconds.values())


@given(st.lists(SPECS, max_size=6))
def test_the_same_sample_and_ledger_give_the_same_placement(specs: list[Spec]) -> None:
    one = sample(two_socket(), *tasks(specs))
    assert join(one, Ledger(), Settings()) == join(one, Ledger(), Settings())


@given(st.lists(SPECS, max_size=6), st.permutations([3, 8]))
def test_renaming_nodes_permutes_labels(specs: list[Spec], ids: list[int]) -> None:
    rename = {0: ids[0], 1: ids[1]}
    straight = placed(sample(two_socket(), *tasks(specs)))
    other = placed(sample(renamed(rename), *tasks(specs, rename)))
    assert len(everyone(straight)) == len(everyone(other))
    for rank, same in zip(everyone(straight), everyone(other), strict=True):
        assert same.key == rank.key
        assert same.home == {rename[on] for on in rank.home}
        assert same.misalignment == rank.misalignment
        assert same.allowed_cpus == rank.allowed_cpus
        assert same.cpu.seconds == {(rename[on], of): spent for (on, of), spent in rank.cpu.seconds.items()}
        assert same.mapped == {
            backing: {rename[on]: count for on, count in by_node.items()}
            for backing, by_node in (rank.mapped or {}).items()
        }


@given(st.lists(SPECS, max_size=6), SPECS)
def test_adding_a_process_never_lowers_a_total(specs: list[Spec], another: Spec) -> None:
    fewer = placed(sample(two_socket(), *tasks(specs)))
    more = placed(sample(two_socket(), *tasks([*specs, another])))
    assert mapped_bytes(more) >= mapped_bytes(fewer)
    assert cpu_seconds(more) >= cpu_seconds(fewer) * (1 - 1e-9)
    assert sum(len(rank.processes) for rank in everyone(more)) >= sum(len(rank.processes) for rank in everyone(fewer))


@given(st.lists(st.lists(SPECS, max_size=4), min_size=1, max_size=5))
def test_no_counter_of_cpu_time_falls_whatever_comes_and_goes(looks: list[list[Spec]]) -> None:
    ledger = Ledger()
    before: dict[object, float] = {}
    for number, specs in enumerate(looks):
        placement = join(sample(two_socket(), *tasks(specs), at=15.0 * number), ledger, Settings())
        ledger = placement.ledger
        now = {(rank.key, key): seconds for rank in everyone(placement) for key, seconds in rank.cpu.seconds.items()}
        assert all(seconds >= before.get(key, 0.0) for key, seconds in now.items())
        before.update(now)


@given(st.lists(SPECS, min_size=1, max_size=6))
def test_ratios_are_ratios(specs: list[Spec]) -> None:
    for rank in everyone(placed(sample(two_socket(), *tasks(specs)))):
        assert all(0.0 <= ratio <= 1.0 for ratio in rank.misalignment.values())
        assert rank.misalignment.keys() == rank.remote.keys() == rank.considered.keys()
