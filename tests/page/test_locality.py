import pytest

from numa_exporter.page.document import Document
from numa_exporter.page.hardware import Machine
from numa_exporter.page.locality import Locality, locality, memory_home
from tests.page.reports import gpu, machine, node, report, stored


def read(*nodes: dict[str, object], **other: object) -> Machine:
    return Document.read(report(machine=machine(*nodes), **other)).machine


def test_home_socket_and_the_rest() -> None:
    here = Document.read(stored("nps4")).machine
    found = [locality(here, n, {3}, ()) for n in (3, 0, 4)]
    assert found == [Locality.LOCAL, Locality.SOCKET, Locality.REMOTE]


def test_without_sockets_only_local_and_remote_exist() -> None:
    here = Document.read(stored("unknown")).machine
    assert locality(here, 0, {0}, ()) is Locality.LOCAL
    assert locality(here, 1, {0}, ()) is Locality.REMOTE


def test_nothing_is_known_without_a_home_or_for_a_node_that_is_not_there() -> None:
    here = Document.read(report()).machine
    assert locality(here, 0, (), ()) is Locality.UNKNOWN
    assert locality(here, 7, {0}, ()) is Locality.UNKNOWN


@pytest.mark.parametrize(
    ("node_id", "expected"),
    [(2, Locality.DEVICE), (10, Locality.LOCAL), (18, Locality.REMOTE), (3, Locality.UNKNOWN)],
    ids=["own GPU", "the neighbour's GPU", "a GPU of the other socket", "nobody's"],
)
def test_device_memory_takes_the_class_of_its_gpu(node_id: int, expected: Locality) -> None:
    here = Document.read(stored("gb200")).machine
    own = here.gpus[0].key
    assert locality(here, node_id, {0}, {own}) is expected


def test_a_memory_node_is_at_best_of_the_socket() -> None:
    cxl = {"kind": "memory", "cpus": ""}
    here = read(node(0, 0), node(1, 1), node(2, 0, **cxl), node(3, None, **cxl))
    assert locality(here, 2, {0}, ()) is Locality.SOCKET
    assert locality(here, 2, {1}, ()) is Locality.REMOTE
    assert locality(here, 3, {0}, ()) is Locality.UNKNOWN  # as near to one as to the other


def test_memory_home_is_the_nearest_memory_where_the_home_has_none() -> None:
    bare = node(0, 0, memory_bytes=0, distances={"0": 10, "1": 12, "2": 32})
    here = read(bare, node(1, 0), node(2, 1), gpus=[gpu(0, 0)])
    assert memory_home(here, {0}) == {1}
    assert memory_home(here, {1}) == {1}
    assert memory_home(here, ()) == frozenset()


def test_on_a_tie_memory_home_is_that_of_its_own_socket() -> None:
    bare = node(0, 0, memory_bytes=0, distances={"0": 10, "1": 20, "2": 20})
    assert memory_home(read(bare, node(1, 0), node(2, 1), gpus=[gpu(0, 0)]), {0}) == {1}
