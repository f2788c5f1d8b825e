import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import proc_cgroup
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.formats.proc_cgroup import Membership

HYBRID = b"""9:name=systemd:/system.slice/vllm.service
4:memory:/process_api/963e
3:cpuset:/
2:cpu,cpuacct:/docker/2a4f
0::/init.scope
"""
NAMES = st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]), max_size=20)


def render(membership: Membership) -> bytes:
    deleted = " (deleted)" if membership.deleted else ""
    controllers = ",".join(membership.controllers)
    line = f"{membership.hierarchy}:{controllers}:{membership.path}{deleted}\n"
    return line.encode("utf-8", "surrogateescape")


@given(
    st.builds(
        Membership,
        hierarchy=st.integers(min_value=0, max_value=20),
        controllers=st.lists(st.sampled_from(["cpu", "cpuset", "name=systemd"]), unique=True).map(tuple),
        path=NAMES.map(lambda name: "/" + name).filter(lambda path: not path.endswith(" (deleted)")),
        deleted=st.booleans(),
    )
)
def test_what_is_rendered_is_parsed_again(membership: Membership) -> None:
    assert proc_cgroup.parse(render(membership), "/proc/1/cgroup") == (membership,)


def test_a_v1_line_goes_before_the_v2_line() -> None:
    lines = proc_cgroup.parse(HYBRID, "/proc/1/cgroup")
    assert proc_cgroup.path_of(lines, "memory") == (1, "/process_api/963e")
    assert proc_cgroup.path_of(lines, "cpuacct") == (1, "/docker/2a4f")
    assert proc_cgroup.path_of(lines, "pids") == (2, "/init.scope")
    assert proc_cgroup.unified_path(lines) == "/init.scope"


def test_without_v2_an_unnamed_controller_has_no_path() -> None:
    lines = proc_cgroup.parse(b"3:cpuset:/\n1:name=systemd:/x\n", "/proc/1/cgroup")
    assert proc_cgroup.path_of(lines, "memory") is None
    assert proc_cgroup.unified_path(lines) is None


def test_odd_paths() -> None:
    def path(line: bytes) -> str:
        return proc_cgroup.parse(line, "/proc/1/cgroup")[0].path

    assert path(b"0::/kubepods-podx.slice:cri-containerd:0f76\n") == "/kubepods-podx.slice:cri-containerd:0f76"
    assert path(b"0::/../../..\n") == "/../../.."
    assert path(b"11:perf_event:\n") == ""
    assert path(b"0::/caf\xe9\n").encode("utf-8", "surrogateescape") == b"/caf\xe9"
    assert path(b"0::/no newline") == "/no newline"


def test_a_removed_cgroup_is_marked() -> None:
    (line,) = proc_cgroup.parse(b"0::/system.slice/gone.service (deleted)\n", "/proc/1/cgroup")
    assert (line.path, line.deleted) == ("/system.slice/gone.service", True)


def test_one_readable_line_is_enough() -> None:
    assert len(proc_cgroup.parse(b"other_line\n0::/a\n", "/proc/1/cgroup")) == 1
    assert proc_cgroup.parse(b"", "/proc/1/cgroup") == ()


@pytest.mark.parametrize("data", [b"other_line\n", b"0:/a\n", b"x::/a\n", b"0::a\n", b"/just/a/path\n"])
def test_a_file_without_any_is_broken(data: bytes) -> None:
    with pytest.raises(ParseError):
        proc_cgroup.parse(data, "/proc/1/cgroup")
