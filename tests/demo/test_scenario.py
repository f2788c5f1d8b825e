"""Scenario files: what they may say, and how they are refused."""

from pathlib import Path

import pytest

from numa_exporter.simhost.keys import ScenarioError, moment, size
from numa_exporter.simhost.scenario import built_in, load, parse

GOOD = """
description = "two GPUs"
past = "40m"
[machine]
gpus = [0, 1]
[[workload]]
name = "llama"
gpus = [0, 1]
life = [{ at = "-20h" }, { at = "-30m", remote_memory = [0.0, 0.5] }]
"""


def test_every_scenario_of_the_package_loads() -> None:
    assert {"two-socket-eight-gpu", "single-node", "nps4", "aligned"} <= set(built_in())
    assert [load(name).name for name in built_in()] == list(built_in())


def test_a_file_by_its_path(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(GOOD)
    told = load(str(file))
    assert (told.name, told.past, len(told.workload[0].life)) == ("mine", 2400.0, 2)
    assert told.workload[0].life[1].remote_memory == (0.0, 0.5)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("past", "pats", "mine.toml: unknown key pats"),
        ("[machine]", "[machine]\nsocket = 2", "mine.toml: unknown key machine.socket"),
        ('name = "llama"', 'nam = "llama"', "mine.toml: unknown key workload[0].nam"),
        ('at = "-30m"', 'at = "-30m", remotememory = 1', "mine.toml: unknown key workload[0].life[1].remotememory"),
        ('past = "40m"', "past = 40", "mine.toml: past: expected a moment"),
        ('past = "40m"', "", "mine.toml: past is missing"),
        ("gpus = [0, 1]\n[[", "gpus = [0, 2]\n[[", "mine.toml: machine.gpus: nodes are 0 to 1"),
        ("gpus = [0, 1]\nlife", "gpus = [0, 5]\nlife", "mine.toml: workload[0].gpus: the machine has GPUs 0 to 1"),
        ("[0.0, 0.5]", "[0.0, 1.5]", "remote_memory: expected a share from 0 to 1"),
        ("[0.0, 0.5]", "[0.0, 0.5, 0.1]", "remote_memory: expected one share, or one for each of its GPUs"),
        ('at = "-30m"', 'at = "-30h"', "workload[0].life: expected one after the other"),
        ('at = "-20h"', 'at = "-20h", restart = false', "life[0].restart: what never started cannot live on"),
        ('at = "-30m"', 'at = "-30m", bound = "there"', "life.bound: expected home or far, found 'there'"),
        ("[[workload]]", "[workload]", "workload: expected [[workload]] tables"),
        ("[[workload]]", "[[workload", "mine.toml: not TOML"),
    ],
)
def test_what_is_wrong_is_named(old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(ScenarioError) as refused:
        parse(GOOD.replace(old, new, 1), "mine.toml")
    assert said in str(refused.value)


def test_a_name_that_is_none_lists_those_that_are() -> None:
    with pytest.raises(ScenarioError, match=r"nps5: no such scenario; there are .*nps4"):
        load("nps5")


def test_moments_and_sizes() -> None:
    assert [moment(text) for text in ("-3h", "12m30s", "0s", "-1d")] == [-10800, 750, 0, -86400]
    assert [size(text) for text in ("3GiB", "1.5 MiB")] == [3 << 30, 3 << 19]
    for text in ("3", "3GB", "", 3):
        with pytest.raises(ValueError, match="a size"):
            size(text)
    for text in ("3", "h", "3h-", 3):
        with pytest.raises(ValueError, match="a moment"):
            moment(text)
