"""The past goes by in steps until it meets the clock."""

from numa_exporter.cli.pace import Pace


def test_steps_then_the_clock() -> None:
    clock = iter([0.0, 0.5, 1.0, 1.5, 31.0])
    pace = Pace(-30, 15, lambda: next(clock))
    assert [(pace(index), pace.met) for index in range(5)] == [
        (-30, False),
        (-15, False),
        (0, False),
        (1.5, True),  # a step further would be in the future
        (31.0, True),
    ]
