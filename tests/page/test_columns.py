from numa_exporter.page.columns import Columns, lay_out
from numa_exporter.page.document import Document
from tests.page.reports import machine, node, report, stored


def columns(document: dict[str, object]) -> Columns:
    return lay_out(Document.read(document).machine.nodes)


def test_two_sockets_mirror_across_one_gap() -> None:
    found = columns(report())
    assert found.tracks == (0, None, 1)
    assert found.mirrored and not found.narrow and not found.single
    assert found.template == "minmax(0, 1fr) var(--gap) minmax(0, 1fr)"
    assert found.sockets == ((0, 1), (1, 1))


def test_eight_nodes_are_four_beside_four() -> None:
    found = columns(stored("nps4"))
    assert found.tracks == (0, 1, 2, 3, None, 4, 5, 6, 7)
    assert found.narrow and not found.mirrored


def test_order_is_by_socket_then_id() -> None:
    crossed = report(machine=machine(node(3, 0), node(2, 1), node(1, 0), node(0, 1)))
    assert columns(crossed).tracks == (1, 3, None, 0, 2)


def test_gpu_nodes_and_empty_nodes_get_no_column() -> None:
    assert columns(stored("gb200")).tracks == (0, None, 1)


def test_a_memory_node_stands_in_its_socket() -> None:
    found = columns(stored("edges"))
    assert found.tracks == (0, None, 1, None, 2, None, 3, 4)
    assert found.sockets == ((0, 1), (1, 1), (2, 1), (3, 2))


def test_unknown_sockets_keep_the_gap() -> None:
    found = columns(stored("unknown"))
    assert found.tracks == (0, None, 1)
    assert found.sockets == ((None, 1), (None, 1))


def test_two_nodes_of_one_socket_have_no_gap() -> None:
    found = columns(report(machine=machine(node(0, 0), node(1, 0))))
    assert found.tracks == (0, 1)
    assert not found.mirrored


def test_one_node_and_none() -> None:
    assert columns(stored("single-node")).single
    assert columns({}).tracks == ()
