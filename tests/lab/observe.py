"""Run in the guest: the exporter beside running workloads, and the kernel's own answers taken after it.

    python -m tests.lab.observe OPTIONS -- good remote_memory -- snapshot -o FILE -- without-nvml report

prints {"runs": [{"exit_code", "stdout", "stderr"} of each run], "ranks": {workload: [what is known of each]}}.
NVML, as the shim, names each rank's process on its GPUs, but for a run `without-nvml`; what a run leaves in $LAB_OUT
comes home.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from tests.lab import truth
from tests.lab.cache import fill
from tests.lab.gpus import gpu_records, holding_record
from tests.lab.running import Running, running
from tests.lab.traffic import traffic

YOUNGEST = 10.5
"""Seconds: the exporter leaves younger processes alone."""
GROWTH_MIB = 256
LOOKED = "/run/lab-looked"
"""There when a run's first look is done: workloads grow between it and the last."""


def main() -> None:
    options, names, *runs = _split(sys.argv[1:])
    args = _parser().parse_args(options)
    waiting = [_start(words) for words in runs]
    with ExitStack() as stack:
        if args.fill_node is not None:
            fill(args.fill_node)
        ranks = stack.enter_context(running(names))
        stack.enter_context(driver(ranks))
        if args.interrupts is not None:
            stack.enter_context(traffic(args.interrupts))
        time.sleep(YOUNGEST)
        before = {rank.pid: truth.cpu_seconds(rank.pid) for rank in ranks}
        told = [_finish(run, ranks) for run in waiting]
        found = _known(names, ranks, before)
    print(json.dumps({"runs": told, "ranks": found}))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.lab.observe", description=__doc__)
    parser.add_argument("--fill-node", type=int, metavar="NODE", help="with page cache, before the workloads start")
    parser.add_argument("--interrupts", type=int, metavar="CPU", help="which serves the network cards, under traffic")
    return parser


def _known(names: Sequence[str], ranks: Sequence[Running], before: dict[int, float]) -> dict[str, list[dict[str, Any]]]:
    totals = truth.numastat([rank.pid for rank in ranks])
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for rank in ranks:
        own = {"numastat": totals[rank.pid], "cpu_seconds_before": before[rank.pid]}
        found[rank.workload].append(
            {
                "gpus": {str(gpu): used for gpu, used in rank.rank.gpus.items()},
                "container": rank.container.id,
                "said": rank.said,
                "truth": rank.truth() | own,
            }
        )
    return found


@contextmanager
def driver(ranks: Sequence[Running]) -> Iterator[None]:
    """The NVML shim's file, rewritten twice a second with more memory used by whoever is loading."""
    stop = threading.Event()
    path = Path(os.environ["NVML_SHIM_FILE"])
    fixed = gpu_records()

    def write(turn: int) -> None:
        grown = turn * GROWTH_MIB
        holdings = [
            holding_record(gpu, rank.pid, used + (grown if rank.rank.loading else 0))
            for rank in ranks
            for gpu, used in rank.rank.gpus.items()
        ]
        new = path.with_suffix(".new")
        new.write_text("\n".join([*fixed, *holdings]) + "\n")
        new.replace(path)  # a call sees the old machine or the new one

    def rewrite() -> None:
        for turn in count(1):
            if stop.wait(0.5):
                return
            write(turn)

    write(0)
    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _start(words: Sequence[str]) -> "subprocess.Popen[str]":
    environment = {**os.environ, "LAB_LOOKED": LOOKED}
    if words[0] == "without-nvml":
        words = words[1:]
        del environment["LD_LIBRARY_PATH"]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.lab.exporter", *words],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finish(run: "subprocess.Popen[str]", ranks: Sequence[Running]) -> dict[str, Any]:
    looked = Path(LOOKED)
    looked.unlink(missing_ok=True)

    def grow() -> None:
        while not looked.exists() and run.poll() is None:
            time.sleep(0.1)
        for rank in ranks:
            if rank.grows:
                os.kill(rank.pid, signal.SIGUSR1)

    later = threading.Thread(target=grow)
    later.start()
    stdout, stderr = run.communicate("look\n")
    later.join()
    return {"exit_code": run.returncode, "stdout": stdout, "stderr": stderr}


def _split(words: Sequence[str]) -> list[list[str]]:
    """At each "--"."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "--":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


if __name__ == "__main__":
    main()
