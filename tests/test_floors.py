"""The house holds: imports go down, each third-party package has one owner, pure floors stay pure."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "numa_exporter"

FLOOR = {
    "formats": 0,
    "model": 1,
    **dict.fromkeys(("sources", "placement", "findings", "metrics", "bundle", "gate", "simhost", "page"), 2),
    "agent": 3,
    "cli": 4,
}
OWNER = {
    "pynvml": ("sources/nvml.py",),
    "grpclib": ("sources/grpc_socket.py",),
    "google": ("formats/podresources_pb2.py", "formats/podresources.py", "formats/cri_pb2.py", "formats/cri.py"),
    "prometheus_client": ("metrics/",),
    "aiohttp": ("agent/web.py", "agent/fleet.py"),
    "psutil": ("agent/governor.py",),
    "bcrypt": ("agent/web_config.py",),
    "yaml": ("agent/web_config.py", "cli/intents.py", "formats/kubelet_config.py"),
}
IMPURE = {
    "os",
    "io",
    "pathlib",
    "socket",
    "subprocess",
    "mmap",
    "ctypes",
    "time",
    "random",
    "shutil",
    "tempfile",
}
IMPURE_FLOORS = ("sources/", "bundle/", "simhost/", "agent/", "cli/")

FILES = sorted(PACKAGE.rglob("*.py"))


def imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "absolute imports only"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(PACKAGE)))
def test_imports_keep_the_floors(file: Path) -> None:
    place = str(file.relative_to(PACKAGE))
    room = place.split("/")[0]
    floor = FLOOR.get(room, 5)
    for name in imports(ast.parse(file.read_text())):
        top, _, rest = name.partition(".")
        if top == "numa_exporter":
            other = rest.split(".")[0]
            if other in FLOOR and other != room:
                assert FLOOR[other] < floor, f"{place} imports {name}: not on a floor below"
        elif top in OWNER:
            assert place.startswith(OWNER[top]), f"{place} imports {top}, owned by {OWNER[top]}"
        elif top in IMPURE and not place.startswith(IMPURE_FLOORS):
            pytest.fail(f"{place} imports {name}: this floor is pure")


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(PACKAGE)))
def test_no_builtin_open_on_pure_floors_and_no_mutable_module_state(file: Path) -> None:
    place = str(file.relative_to(PACKAGE))
    tree = ast.parse(file.read_text())
    if not place.startswith(IMPURE_FLOORS):
        calls = [n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
        assert "open" not in calls, f"{place} opens a file: this floor is pure"
    assert not any(isinstance(n, ast.Global) for n in ast.walk(tree)), f"{place} uses `global`"
    for node in tree.body:
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        is_name_list = isinstance(node, ast.Assign) and [getattr(t, "id", "") for t in node.targets] == ["__all__"]
        mutable = isinstance(value, ast.List | ast.Set | ast.ListComp | ast.SetComp) or (
            isinstance(value, ast.Call)
            and isinstance(value.func, ast.Name)
            and value.func.id in {"list", "set", "dict", "defaultdict", "deque", "Counter"}
        )
        assert is_name_list or not mutable, f"{place}:{node.lineno} holds mutable state at module level"
