"""A Prometheus that has a past: samples of a simulation as blocks, and what the recording rules would have made of it.

Some rules ask for a day. promtool makes blocks of OpenMetrics; recording rules follow level by level, for a rule sees
only what lies in blocks when its level begins.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from . import rules, servers
from .servers import INSTALLED, Programs

STEP = 60.0
BLOCK = 7200.0
"""Seconds of a block; blocks begin at multiples."""
EMPTY = "global: {evaluation_interval: 1m}\n"


def fill(data: Path, samples: Sequence[Path], begin: float, end: float, programs: Programs = INSTALLED) -> None:
    """Blocks in ``data`` from OpenMetrics files, and recorded series from ``begin`` to ``end`` (unix time)."""
    begin = clear_of_boundary(begin)
    data.mkdir(exist_ok=True)
    for file in samples:
        _blocks(programs, "openmetrics", str(file), str(data))
    config = data.parent / "history.yml"
    config.write_text(EMPTY)
    for number, level in enumerate(rules.levels(rules.recording_rules())):
        file = data.parent / f"level-{number}.yaml"
        file.write_text(rules.file_of(level, STEP))
        with servers.prometheus(config, data, servers.free_port(), programs) as server:
            server.wait()
            window = (f"--start={begin:.0f}", f"--end={end:.0f}", f"--eval-interval={STEP:.0f}s")
            where = (f"--url={server.url}", f"--output-dir={data}", str(file))
            _blocks(programs, "rules", *window, *where)


def clear_of_boundary(begin: float) -> float:
    """The same moment, or the next block's first where this block has less than a step left: promtool ends without a
    word, and without a sample, where no evaluation of a group falls into the first block."""
    left = BLOCK - begin % BLOCK
    return begin + left if left < STEP else begin


def _blocks(programs: Programs, *arguments: str) -> None:
    command = [programs.promtool, "tsdb", "create-blocks-from", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"promtool tsdb {arguments[0]}: {done.stdout[-1000:]}{done.stderr[-1000:]}")
