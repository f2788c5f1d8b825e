import pytest

from numa_exporter.page.words import clock, decimal, id_list, memory, on_nodes, percent, plural


@pytest.mark.parametrize(
    ("ratio", "said"),
    [(0.0, "0\u00a0%"), (0.004, "<1\u00a0%"), (0.01, "1\u00a0%"), (0.796, "80\u00a0%"), (1.0, "100\u00a0%")],
)
def test_percent_never_rounds_something_to_nothing(ratio: float, said: str) -> None:
    assert percent(ratio) == said


def test_sizes_are_in_the_largest_unit_of_which_there_is_one() -> None:
    assert memory(18.7 * (1 << 30)) == "18.7\u00a0GiB"
    assert memory(0.5 * (1 << 30)) == "512\u00a0MiB"
    assert memory(360.4 * (1 << 30)) == "360\u00a0GiB"
    assert memory(99.96 * (1 << 20)) == "100\u00a0MiB"
    assert memory(1.5 * (1 << 40)) == "1.5\u00a0TiB"
    assert memory((1 << 30) - 1) == "1.0\u00a0GiB"
    assert memory(1023.4 * (1 << 20)) == "1023\u00a0MiB"
    assert memory(5) == "5\u00a0B"


@pytest.mark.parametrize(
    ("value", "said"), [(50.0, "50"), (8.365, "8.37"), (0.001, "0"), (-0.001, "0"), (99.999, "100"), (0.6, "0.6")]
)
def test_decimals_fit_for_svg(value: float, said: str) -> None:
    assert decimal(value) == said


def test_names_of_several() -> None:
    assert id_list([9, 3, 4, 5, 3]) == "3-5,9"
    assert on_nodes([0]) == "node\u00a00"
    assert on_nodes([3, 0, 4]) == "nodes\u00a00,3-4"
    assert (plural(1, "rank"), plural(0, "rank")) == ("1\u00a0rank", "0\u00a0ranks")


def test_a_time_of_another_day_tells_the_day() -> None:
    assert clock("2026-01-31T11:21:00Z", "2026-01-31T12:00:00Z") == "11:21"
    assert clock("2026-01-30T11:21:00Z", "2026-01-31T12:00:00Z") == "2026-01-30\u00a011:21"
    assert clock(None, "2026-01-31T12:00:00Z") is None
    assert clock("soon") == "soon"
