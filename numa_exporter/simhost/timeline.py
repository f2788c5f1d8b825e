"""A scenario as a recording without an end: each frame is made when somebody opens it."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import overload

from numa_exporter import __version__
from numa_exporter.model.recording import Answer, Frame, Question, Recording
from numa_exporter.simhost import containers, drivers, hardware, kubelet, pages, processes
from numa_exporter.simhost.answers import GONE, Answers, refusal
from numa_exporter.simhost.cast import Cast
from numa_exporter.simhost.layout import Layout
from numa_exporter.simhost.names import Names
from numa_exporter.simhost.scenario import Scenario

ENDLESS = 1 << 40

Pace = Callable[[int], float]
"""The moment of a frame, in seconds from the start of the demo; the past is negative."""


class Simulation:
    """A scenario on a machine of its own. ``seed`` draws the names; ``began`` is the wall clock at moment 0."""

    def __init__(self, scenario: Scenario, *, seed: int, began: float) -> None:
        self.scenario = scenario
        self.names = Names(seed)
        self.layout = Layout(scenario.machine, self.names)
        self.cast = Cast(scenario, self.layout, self.names)
        self.began = began
        self.standing = hardware.standing(self.layout, self.names) | drivers.standing(self.layout)

    def frame(self, now: float) -> Frame:
        """Everything that the machine would answer at a moment."""
        answers = _Moment(self, now)
        return Frame(taken_at=self.began + now, monotonic=hardware.UPTIME + now, answers=answers)


class _Moment(Answers):
    """A frame's answers: what moves is written at once, what stands is looked up, pages are asked one by one."""

    def __init__(self, simulation: Simulation, now: float) -> None:
        layout, cast = simulation.layout, simulation.cast
        super().__init__(hardware.moving(layout, cast, now, simulation.began))
        self.update(processes.answers(layout, cast, now))
        self.update(containers.answers(layout, cast, now))
        self.update(kubelet.answers(layout, cast, now))
        self.update(drivers.moving(layout, cast, now))
        self._simulation = simulation
        self._now = now

    def __missing__(self, question: Question) -> Answer:
        door, key = question
        if door == "seed":
            return int(self._simulation.names.digest("seed", key, self._now)[:15], 16)
        if door == "pages":
            return self._pages(key)
        if door == "environ":
            return None  # not set
        return refusal(question, self._simulation.standing)

    def _pages(self, key: str) -> Answer:
        path, *steps = key.split()
        # Differences, in units of 4 KiB (sources/recorded_pages.py:nodes_key).
        addresses = [unit << 12 for unit in accumulate(int(step, 16) for step in steps)]
        pid = int(path.split("/")[2])
        if pid == 0:  # a reader that tries the call on itself
            return [0] * len(addresses)
        task = next((task for task in self._simulation.cast.tasks(self._now) if task.pid == pid), None)
        return GONE if task is None else pages.page_nodes(pages.mappings(task, self._now), addresses)


class Timeline(Sequence[Frame]):
    """The frames of a simulation, one after the other; only the last one opened is kept."""

    def __init__(self, simulation: Simulation, pace: Pace) -> None:
        self._simulation = simulation
        self._pace = pace
        self._open: tuple[int, Frame] | None = None

    def __len__(self) -> int:
        return ENDLESS

    @overload
    def __getitem__(self, index: int) -> Frame: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Frame]: ...
    def __getitem__(self, index: int | slice) -> Frame | Sequence[Frame]:
        if isinstance(index, slice):
            raise TypeError("a timeline has no end: open one frame at a time")
        opened = self._open
        if opened is None or opened[0] != index:
            opened = self._open = index, self._simulation.frame(self._pace(index))
        return opened[1]


def recording(simulation: Simulation, pace: Pace) -> Recording:
    """What a ReplayHost opens."""
    return Recording(
        nodename=f"simulated-{simulation.scenario.name}",
        simulated=True,
        exporter=__version__,
        frames=Timeline(simulation, pace),
        settings={},
    )
