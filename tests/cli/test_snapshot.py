"""A bundle read back is the identical report but for its mode: also where a source hung, was denied, lost a process."""

import json
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from numa_exporter.bundle.archive import pack
from numa_exporter.model.recording import Recording
from numa_exporter.sources.memory import YOUNGEST
from tests.agent.agent_process import COMMAND, NOBODY
from tests.agent.tree import GPU, NODE1_MEMINFO, files, make_hang, plant
from tests.conftest import REPOSITORY
from tests.fakehost import DENIED, GONE, fake_host
from tests.nvml.build import NvmlShim, record
from tests.sources import victim

pytestmark = pytest.mark.real  # servers, and a library that gcc makes

Take = Callable[..., Path]


def run(*arguments: str, environment: dict[str, str] | None = None, command: list[str] = COMMAND) -> str:
    """Standard output; the exit status says what was found, so anything but a refusal is good."""
    done = subprocess.run(
        [*command, *arguments],
        cwd=REPOSITORY,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1, 2) and done.stderr == "", done.stderr
    return done.stdout


def live_report(bundle: Path) -> Any:
    """The report that the snapshot made while it looked."""
    with tarfile.open(bundle) as tar:
        member = tar.extractfile("report.json")
        assert member is not None
        return json.load(member)


def replayed(bundle: Path, *flags: str) -> Any:
    return json.loads(run("report", "--json", "--replay", str(bundle), *flags))


def assert_identical(bundle: Path) -> Any:
    """Compares live and replayed; answers the replayed one."""
    live, again = live_report(bundle), replayed(bundle)
    assert again["mode"] == "replay"
    assert {**live, "mode": None} == {**again, "mode": None}
    return again


@pytest.fixture
def take(tmp_path: Path) -> Take:
    """Takes a snapshot; the flags and command as they are given."""

    def snapshot(*flags: str, **how: Any) -> Path:
        bundle = tmp_path / "out" / "bundle.tar.gz"
        bundle.parent.mkdir(mode=0o777, exist_ok=True)
        bundle.parent.chmod(0o777)
        run("snapshot", "-o", str(bundle), "--window", "600ms", *flags, **how)
        return bundle

    return snapshot


@pytest.fixture(scope="module")
def engine() -> Iterator["subprocess.Popen[str]"]:
    """A process with memory of every kind, old enough for its pages to be looked at."""
    with subprocess.Popen(
        [sys.executable, victim.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(YOUNGEST + 1)
        yield process
        process.kill()


def machine(*pids: int) -> list[str]:
    return [
        record("driver", version="550.90.07"),
        record("gpu", pci="0000:41:00.0", uuid="GPU-0", name="NVIDIA L40S", minor=0, tx=10, rx=20, width=16),
        *(record("process", gpu=0, pid=pid, used=(number + 2) << 30) for number, pid in enumerate(pids)),
    ]


def test_this_very_host(take: Take) -> None:
    found = assert_identical(take())
    assert found["host"]["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert found["gpus"] == []


def test_a_live_process_that_holds_a_gpu(take: Take, nvml_shim: NvmlShim, engine: "subprocess.Popen[str]") -> None:
    nvml_shim.write(*machine(engine.pid))
    found = assert_identical(take(environment=nvml_shim.environment))
    (rank,) = found["workloads"][0]["ranks"]
    assert [process["pid"] for process in rank["processes"]] == [engine.pid]
    if os.geteuid() == 0:
        assert sum(rank["mapped"]["shmem_anon"].values()) == victim.SHARED
    assert found["sources"]["gpus"]["up"] is True


def test_nvml_that_hangs_hangs_again(take: Take, nvml_shim: NvmlShim) -> None:
    nvml_shim.write(*machine(1), record("hang", function="nvmlDeviceGetName"))
    found = assert_identical(take(environment=nvml_shim.environment))
    assert found["sources"]["gpus"]["failure"] == "stuck"
    assert found["sources"]["topology"]["up"] is True
    assert found["gpus"] is None


def test_a_file_that_hangs_hangs_again(tmp_path: Path, take: Take) -> None:
    root = plant(tmp_path / "root")
    make_hang(root, NODE1_MEMINFO)
    found = assert_identical(take("--path.rootfs", str(root)))
    assert found["sources"]["topology"]["failure"] == "stuck"
    assert found["machine"] is None


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_what_an_ordinary_user_was_denied_is_denied_again(
    take: Take, nvml_shim: NvmlShim, engine: "subprocess.Popen[str]"
) -> None:
    nvml_shim.open_to_all()
    nvml_shim.write(*machine(engine.pid))
    found = assert_identical(take(environment=nvml_shim.environment, command=NOBODY))
    assert found["sources"]["memory"]["failure"] == "denied"
    (rank,) = found["workloads"][0]["ranks"]
    assert rank["mapped"] is None and rank["threads"] is not None


def test_a_process_that_ended_is_gone_again(take: Take, nvml_shim: NvmlShim) -> None:
    """NVML names a PID that nobody has, as it does for a moment after an engine ended."""
    nvml_shim.write(*machine(4_000_000))
    found = assert_identical(take(environment=nvml_shim.environment))
    assert found["attribution"]["unattributed"] == 1
    assert found["workloads"] == []


def bundle_of(tmp_path: Path, recording: Recording) -> Path:
    file = tmp_path / "made.tar.gz"
    file.write_bytes(pack(recording, {}))
    return file


@pytest.mark.parametrize(
    "change",
    [{}, {NODE1_MEMINFO: "nonsense"}, {NODE1_MEMINFO: DENIED, f"{GPU}/numa_node": GONE}],
    ids=["well", "garbled", "denied and gone"],
)
def test_a_bundle_of_a_bundle(tmp_path: Path, take: Take, change: dict[str, Any]) -> None:
    told, links = files()
    made = bundle_of(tmp_path, fake_host({**told, **change}, links=links, later=[{}, {}])._recording)
    found = assert_identical(take("--replay", str(made)))
    first = replayed(made)
    assert {**first, "exporter": None} == {**found, "exporter": None}
    assert (found["sources"]["topology"]["up"] is True) == (change == {})


def test_flags_that_a_report_depends_on_travel_along(tmp_path: Path, take: Take) -> None:
    root = plant(tmp_path / "root")
    bundle = take("--path.rootfs", str(root), "--threshold.memory", "0.31", "--gpu.min-holding", "2GiB")
    assert replayed(bundle)["thresholds"]["memory"] == 0.31
    assert replayed(bundle, "--threshold.memory", "0.4")["thresholds"]["memory"] == 0.4


def test_every_verb_reads_a_bundle(tmp_path: Path, take: Take) -> None:
    root = plant(tmp_path / "root")
    bundle = take("--path.rootfs", str(root))
    assert "00000000:41:00.0" in run("report", "--replay", str(bundle))
    assert "# HELP numa_node_info " in run("report", "--metrics", "--replay", str(bundle))
    assert "GPU0" in run("topo", "--replay", str(bundle))


def test_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    done = subprocess.run(
        [*COMMAND, "snapshot", "-o", fifo], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    line = f"numa-exporter snapshot: --output: {fifo}: not a regular file, and would be replaced by one\n"
    assert (done.returncode, done.stderr) == (2, line)
    assert fifo.is_fifo()
