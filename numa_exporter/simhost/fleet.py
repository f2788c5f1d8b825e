"""Many machines for the price of a few: of two simulations of one scenario, only the names differ."""

import re
from collections.abc import Sequence

from numa_exporter.simhost.cast import Cast
from numa_exporter.simhost.layout import Layout
from numa_exporter.simhost.names import Names
from numa_exporter.simhost.scenario import Scenario


def drawn(scenario: Scenario, seed: int) -> tuple[bytes, ...]:
    """Every name that a seed draws, in the same order for every seed: GPUs, pods, their uids, container ids."""
    names = Names(seed)
    layout = Layout(scenario.machine, names)
    lives = Cast(scenario, layout, names).incarnations
    found = [gpu.uuid for gpu in layout.gpus]
    for one in lives:
        found += [one.pod, one.pod_uid, one.container_id, one.container_id[:12]]
    return tuple(name.encode() for name in found)


class Stencil:
    """A text of one simulation, cut at its drawn names: those of another seed are filled in at the cost of a join."""

    def __init__(self, text: bytes, names: Sequence[bytes]) -> None:
        longest_first = sorted(set(names), key=len, reverse=True)
        cut = re.split(b"(" + b"|".join(map(re.escape, longest_first)) + b")", text)
        place = {name: number for number, name in enumerate(names)}
        self._text = cut[::2]
        self._places = [place[name] for name in cut[1::2]]

    def filled(self, names: Sequence[bytes]) -> bytes:
        """The text as a simulation would have written it that drew ``names``."""
        parts = self._text[:1]
        for text, at in zip(self._text[1:], self._places, strict=True):
            parts += (names[at], text)
        return b"".join(parts)
