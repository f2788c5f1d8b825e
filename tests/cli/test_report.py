"""report: what a person reads, and its exit status."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from numa_exporter.bundle.archive import pack
from numa_exporter.cli.main import main
from numa_exporter.cli.report import _only, status
from numa_exporter.cli.report_text import Style, columns, harmless, render
from numa_exporter.cli.summary import one_line, whole
from numa_exporter.model.health import Failure, SourceHealth
from numa_exporter.model.ids import WorkloadKey
from numa_exporter.model.report import Report, Suppression
from tests.agent.tree import NODE1_MEMINFO, files, plant
from tests.builders import GIB, container, sample, single_node, task, two_socket
from tests.fakehost import fake_host
from tests.metrics.scenes import report

FAR = {"anon": {0: GIB, 1: 7 * GIB}}
NEAR = {"anon": {0: 8 * GIB}}


def watched(mapped: dict[str, dict[int, int]], minutes: int = 12) -> Report:
    """An engine on GPU-0, used to its CPUs, for so long."""
    return report(
        *(
            sample(two_socket(), task(1, gpus="GPU-0", mapped=mapped, cpu={0: 10.0 * look}), at=15.0 * look)  # type: ignore[arg-type]
            for look in range(4 * minutes + 1)
        )
    )


class TestStatus:
    def test_nothing_wrong(self) -> None:
        assert status(watched(NEAR), "warning") == 0

    def test_a_warning(self) -> None:
        assert status(watched(FAR), "warning") == 1

    def test_too_few_looks_to_tell(self) -> None:
        made = report(*(sample(two_socket(), task(1, gpus="GPU-0", cpu={0: 1.0}), at=5.0 * look) for look in range(3)))
        assert status(made, "warning") == 2

    def test_a_warning_weighs_more_than_a_doubt(self) -> None:
        made = watched(FAR, minutes=4)
        doubts = [told.not_judged for told in next(iter(made.verdicts.values())).values()]
        assert "needs 5 min" in doubts
        assert status(made, "warning") == 1

    def test_one_node_and_no_gpu_are_clean(self) -> None:
        assert status(report(sample(single_node(), task(1, gpus="GPU-0"))), "warning") == 0
        assert status(report(sample(two_socket(0))), "warning") == 0

    def test_info_only_where_it_is_asked_for(self) -> None:
        made = report(sample(single_node()))
        assert {finding.level for finding in made.findings} == {"info"}
        assert (status(made, "warning"), status(made, "info")) == (0, 1)

    def test_what_is_meant_to_be_so_is_nothing(self) -> None:
        made = watched(FAR)
        meant = tuple(
            replace(finding, suppressed=Suppression(reason="known", until="2026-02-01")) for finding in made.findings
        )
        assert status(replace(made, findings=meant), "info") == 0
        assert "(suppressed until 2026-02-01: known)" in render(replace(made, findings=meant), Style())

    @pytest.mark.parametrize("missing", ["topology", "gpus"])
    def test_a_machine_or_gpus_that_could_not_be_read(self, missing: str) -> None:
        made = report(sample(two_socket(0), **{missing: None}))
        assert status(made, "warning") == 2

    def test_holders_that_could_not_be_read(self) -> None:
        denied = SourceHealth(
            name="processes", up=False, failure=Failure(word="denied", path="/proc/1/fd", detail=""), interval=15.0
        )
        for gpus, expected in ((2, 2), (0, 0)):
            made = report(sample(two_socket(gpus), health={"processes": denied}))
            assert status(made, "warning") == expected


class TestText:
    def test_the_table_and_what_to_do(self) -> None:
        text = render(watched(FAR), Style())
        assert re.search(r"^vllm\.service +0 +0 +0% +▲ 88% ", text, re.MULTILINE)
        assert "\n▲ memory_remote\n" in text and "\n    do:\n      # systemctl stop vllm.service; " in text
        assert "\033" not in text

    def test_what_two_findings_of_a_workload_share_is_said_once(self) -> None:
        made = watched(FAR)
        (found,) = [finding for finding in made.findings if finding.code == "memory_remote"]
        text = render(replace(made, findings=(found, replace(found, code="host_buffers_remote"))), Style())
        assert text.count("      [Service]\n      AllowedCPUs=0-15,32-47\n      AllowedMemoryNodes=0\n") == 1
        assert "    do: as for memory_remote above" in text.splitlines()

    def test_what_two_workloads_share_is_said_once_and_where(self) -> None:
        made = watched(FAR)
        (found,) = [finding for finding in made.findings if finding.code == "memory_remote"]
        other = replace(found, subject=replace(found.subject, workload=WorkloadKey(unit="sglang.service")))
        text = render(replace(made, findings=(found, other)), Style())
        assert text.count("      [Service]\n      AllowedCPUs=0-15,32-47\n      AllowedMemoryNodes=0\n") == 1
        assert "    do: as for memory_remote of vllm.service above" in text.splitlines()

    def test_what_two_workloads_share_in_part_is_named(self) -> None:
        """The bind of one is not the other's, whose home may be elsewhere."""
        made = watched(FAR)
        (found,) = [finding for finding in made.findings if finding.code == "memory_remote"]
        one = replace(
            found, remedy="# kubelet, drained: merge\nkind: KubeletConfiguration\n\nnumactl --membind=0 COMMAND"
        )
        subject = replace(found.subject, workload=WorkloadKey(unit="sglang.service"))
        other = replace(one, subject=subject, remedy=one.remedy.replace("membind=0", "membind=1"))
        lines = render(replace(made, findings=(one, other)), Style()).splitlines()
        at = lines.index("    do: as for memory_remote of vllm.service above: kubelet")
        assert lines[at + 1 : at + 3] == ["    do:", "      numactl --membind=1 COMMAND"]

    def test_what_is_not_judged_says_why(self) -> None:
        made = report(*(sample(two_socket(), task(1, gpus="GPU-0", cpu={0: 1.0}), at=5.0 * look) for look in range(3)))
        assert "(not judged: needs 5 min)" in render(made, Style())

    def test_holders_that_nobody_could_see_are_not_none(self) -> None:
        blind = report(replace(sample(two_socket()), processes=None))
        assert "Could not tell which process holds a GPU" in render(blind, Style())
        assert "who holds them is not known" in one_line(blind)
        assert "No process holds" in render(report(sample(two_socket())), Style())

    def test_gpus_that_nobody_answered_for_are_not_none(self) -> None:
        stuck = SourceHealth(
            name="gpus",
            up=False,
            failure=Failure(word="stuck", path="gpus", detail="no answer within 10 s"),
            interval=30,
        )
        made = report(sample(two_socket(), gpus=None, health={"gpus": stuck}))
        assert "The GPUs could not be read" in render(made, Style())
        assert "source gpus: stuck: gpus: no answer within 10 s" in render(made, Style())
        assert "GPUs unknown" in one_line(made)
        assert "no GPU" in one_line(report(sample(two_socket(0))))

    def test_colours_are_for_terminals(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Terminal:
            def isatty(self) -> bool:
                return True

        monkeypatch.delenv("NO_COLOR", raising=False)
        assert Style.of(Terminal()).strong  # type: ignore[arg-type]
        monkeypatch.setenv("NO_COLOR", "1")
        assert Style.of(Terminal()) == Style()  # type: ignore[arg-type]

    def test_columns_are_aligned(self) -> None:
        assert list(columns(("A", "LONG"), [("xxx", "y")], Style())) == ["A    LONG", "xxx  y"]


def test_no_warning_at_the_start_is_no_good_news() -> None:
    early = one_line(report(sample(two_socket(), task(1, gpus="GPU-0", mapped=FAR))))
    assert early.endswith(", 0 warnings so far: pages are judged after 3 looks, CPU time after 5 min.")
    assert one_line(report(sample(two_socket()))).endswith(", 0 workloads on them, 0 warnings.")


def test_only_the_workload_of_a_process() -> None:
    both = task(1, gpus="GPU-0", mapped={"anon": {0: GIB}}), task(2, gpus="GPU-1", cgroup=container("a"))
    launcher = task(3, cgroup=container("a"), comm="bash")
    made = report(sample(two_socket(), *both, launcher))
    for pid, unit in ((1, "vllm.service"), (2, "a" * 12), (3, "a" * 12)):
        (work,) = _only(made, pid).placement.workloads
        assert work.key.unit == unit


def test_a_tree_with_one_broken_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = plant(tmp_path, {NODE1_MEMINFO: "nonsense\n"})
    arguments = ["report", "--window", "10ms", "--looks", "2", "--path.rootfs", str(root)]
    assert main(arguments) == 0
    told = capsys.readouterr().out
    assert f"source topology: garbled: {NODE1_MEMINFO}: " in told
    assert main([*arguments, "--json", "--no-source.topology"]) == 2
    assert json.loads(capsys.readouterr().out)["machine"] is None
    assert main([*arguments, "--metrics", "--no-source.gpus"]) == 2
    assert "numa_gpu_info" not in capsys.readouterr().out


def test_a_bundle_that_somebody_made_up_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    told, links = files()
    recording = fake_host(told, links=links)._recording
    answers = {**recording.frames[0].answers, ("clock", "gpus"): ["noon", 1.0]}
    made = replace(recording, frames=(replace(recording.frames[0], answers=answers),))
    bundle = tmp_path / "made-up.tar.gz"
    bundle.write_bytes(pack(made, {}))
    assert main(["report", "--json", "--replay", str(bundle)]) == 2
    why = "not an answer (an answer of the door clock is wall-clock and monotonic seconds)"
    line = f"numa-exporter report: --replay: {bundle}: frames/0/clock.jsonl:1: {why}\n"
    assert (*capsys.readouterr(), caplog.records) == ("", line, [])


@pytest.mark.parametrize(
    "style", [Style(), Style(strong="\x1b[1m", warning="\x1b[1;33m", faint="\x1b[2m", end="\x1b[0m")]
)
def test_a_name_cannot_write_to_the_terminal(style: Style) -> None:
    told = harmless(f"{style.strong}vllm\x1b]0;owned\x07\x1b[2J\x9b5m\r{style.end}\n", style)
    assert told == f"{style.strong}vllm\\x1b]0;owned\\x07\\x1b[2J\\x9b5m\\x0d{style.end}\n"


def test_a_long_name_leaves_room_for_the_other_columns() -> None:
    names = [f"slice/{'a' * 4000}/vllm-{number}" for number in (1, 2)]
    lines = list(columns(("WORKLOAD", "PID"), [(name, "1,2") for name in names], Style()))
    assert all(len(line) < 80 for line in lines)
    assert lines[1] != lines[2] and lines[1].startswith("slice/aaa") and "vllm-1  1,2" in lines[1]


def test_what_is_seen_is_said_when_every_source_has_answered() -> None:
    waiting = SourceHealth(name="processes", up=None, interval=15.0)
    made = report(sample(two_socket(), task(1, gpus="GPU-0"), health={"processes": waiting}))
    assert not whole(made)
    read = replace(waiting, up=True, read_at=1.0)
    failed = replace(waiting, up=False, failure=Failure(word="denied", path="/proc/1/fd", detail=""))
    assert whole(replace(made, health={"processes": read}))
    assert whole(replace(made, health={"processes": failed}))
