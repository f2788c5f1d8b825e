"""The seccomp profile, on this kernel: what it lets through, what it refuses, and the exporter under it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.chart import REPOSITORY
from tests.deploy.victim import ANON
from tests.permissions import Scene

PROFILE = REPOSITORY / "deploy" / "seccomp" / "numa-exporter.json"
CONFINE = REPOSITORY / "tests" / "deploy" / "confine.py"

ASK = """
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def word(*call):
    ctypes.set_errno(0)
    result = libc.syscall(*(ctypes.c_long(c) if isinstance(c, int) else c for c in call))
    return "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]
here = ctypes.create_string_buffer(1)
page = (ctypes.c_uint64 * 1)(ctypes.addressof(here) & ~4095)
node, status = (ctypes.c_int * 1)(0), (ctypes.c_int * 1)()
X86 = os.uname().machine == "x86_64"
MOVE_PAGES, PTRACE, READV, HANDLE, UNSHARE, SOCKET, BPF, PIN, NICE, LIMIT = (
    (279, 101, 310, 304, 272, 41, 321, 203, 141, 302) if X86 else (239, 117, 270, 265, 97, 198, 280, 122, 140, 261)
)
print(
    word(MOVE_PAGES, 0, 1, page, None, status, 0),
    word(MOVE_PAGES, 0, 1, page, node, status, 2),
    word(PTRACE, 0, 0, 0, 0),
    word(READV, os.getpid(), None, 0, None, 0, 0),
    word(HANDLE, -1, None, 0),
    word(UNSHARE, 0),
    word(BPF, 0, None, 0),
    word(SOCKET, 38, 5, 0),
    word(SOCKET, 2, 1, 0),
    word(SOCKET, 1, 1, 0),
    word(PIN, 0, 0, None),
    word(NICE, 0, 0, 0),
    word(LIMIT, 0, 7, None, None),
    word(LIMIT, os.getpid(), 7, None, None),
)
"""


def confined(*command: str, without: tuple[str, ...] = (), **environment: str) -> str:
    left_out = [f"--without={name}" for name in without]
    done = subprocess.run(
        [sys.executable, CONFINE, PROFILE, *left_out, "--", *command],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1, 2), done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


pytestmark = pytest.mark.usefixtures("libseccomp")


def test_asking_is_let_through_and_moving_is_not() -> None:
    asking, moving, *_ = confined(sys.executable, "-c", ASK).split()
    assert asking == "ok"
    assert moving == "ENOSYS"


def test_what_the_two_capabilities_could_be_abused_for_is_refused() -> None:
    _, _, ptrace, readv, handle, unshare, bpf, alg, inet, unix, *_ = confined(sys.executable, "-c", ASK).split()
    assert (ptrace, readv, handle, unshare, bpf, alg) == ("ENOSYS",) * 6
    assert (inet, unix) == ("ok", "ok")


def test_nobodys_cpus_priority_and_limits_can_be_changed() -> None:
    *_, pin, nice, own_limit, others_limit = confined(sys.executable, "-c", ASK).split()
    assert (pin, nice, others_limit) == ("ENOSYS",) * 3
    assert own_limit == "ok"


@pytest.mark.xdist_group("someone")
def test_the_exporter_reads_pages_by_asking_and_without_it_by_walking(someone: Scene) -> None:
    def look(method: str, *without: str) -> tuple[str, int]:
        report = ("-m", "numa_exporter.cli.main", "report", "--json", "--looks=1", f"--memory.method={method}")
        told = json.loads(confined(sys.executable, *report, without=without, **someone.environment))
        assert {name for name, source in told["sources"].items() if source["up"] is False} == set()
        (rank,) = told["workloads"][0]["ranks"]
        return rank["mapped_method"], sum(rank["mapped"]["anon"].values())

    asked, sampled = look("sample")
    walked, counted = look("auto", "move_pages")
    assert (asked, walked) == ("sample", "walk")
    assert counted >= ANON
    assert sampled == pytest.approx(counted, rel=0.1)


def test_the_profile_has_no_name_twice_but_where_arguments_differ() -> None:
    rules = json.loads(PROFILE.read_text())["syscalls"]
    plain = [name for rule in rules if "args" not in rule for name in rule["names"]]
    assert len(plain) == len(set(plain))
    assert not set(plain) & {name for rule in rules if "args" in rule for name in rule["names"]}


def test_beside_the_runtimes_own_profile() -> None:
    """Nothing that podman's default refuses is let through but move_pages, and with it no more than a question."""
    installed = Path("/usr/share/containers/seccomp.json")
    if not installed.exists():
        pytest.skip("needs containers-common (Debian package golang-github-containers-common)")
    theirs = {
        name
        for rule in json.loads(installed.read_text())["syscalls"]
        if rule["action"] == "SCMP_ACT_ALLOW" and not rule.get("includes", {}).get("caps")
        for name in rule["names"]
    }
    rules = json.loads(PROFILE.read_text())["syscalls"]
    ours = {name for rule in rules for name in rule["names"]}
    assert ours - theirs - {"socket"} == {"move_pages"}
    (asking,) = (rule for rule in rules if rule["names"] == ["move_pages"])
    assert asking["args"] == [{"index": 3, "value": 0, "op": "SCMP_CMP_EQ"}]
