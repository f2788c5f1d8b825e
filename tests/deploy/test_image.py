"""The image, built without a registry and run with exactly the DaemonSet's rights beside somebody else's container."""

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.deploy import image, podman
from tests.deploy.chart import REPOSITORY, Object, container, pod_spec
from tests.deploy.podman import Podman, rights
from tests.deploy.victim import ANON
from tests.nvml.build import NvmlShim, record

pytestmark = [
    pytest.mark.image,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: another user's container is looked at"),
]

NAME = "localhost/numa-exporter:test"
PROFILES = REPOSITORY / "deploy" / "seccomp"
METRICS = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:10062/metrics').read().decode())"


@pytest.fixture(scope="module")
def store(need_tool: Callable[[str, str], str]) -> Iterator[image.Store]:
    for program in (*image.PROGRAMS, *podman.PROGRAMS):
        need_tool(program, program)
    built = image.build(NAME)
    yield built
    built.buildah("rmi", "--prune", "--force")  # layers of earlier trees


@pytest.fixture(scope="module")
def containers(store: image.Store) -> Iterator[Podman]:
    with podman.containers(store) as made:
        yield made


@pytest.fixture(scope="module")
def workload(containers: Podman) -> Iterator[str]:
    """The id of another container, of another user, with memory of its own."""
    script = REPOSITORY / "tests" / "deploy" / "victim.py"
    options = ("--user=1000", "--cap-drop=ALL", "--read-only", "--interactive", f"--volume={script}:/victim.py:ro")
    with containers.running(image.BASE, "python3", "/victim.py", options=options) as identity:
        yield identity


@pytest.fixture(scope="module")
def driver(
    containers: Podman, workload: str, nvml_library: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, ...]:
    """Options that bring an NVML into a container as NVIDIA's runtime does. It tells that the workload holds a GPU."""
    folder = tmp_path_factory.mktemp("driver")
    shim = NvmlShim(library=nvml_library(), file=folder / "nvml.txt", log=folder / "nvml.log")
    pid = containers.inspect(workload)["State"]["Pid"]
    gpu = record("gpu", pci="0000:8d:00.0", uuid="GPU-0", name="NVIDIA H100", minor=0, nodes="0")
    shim.write(gpu, record("process", gpu=0, pid=pid, used=4 << 30))
    library = f"/usr/lib/{os.uname().machine}-linux-gnu/libnvidia-ml.so.1"
    return (
        f"--volume={shim.library}:{library}:ro",
        f"--volume={shim.file}:/nvml.txt:ro",
        "--env=NVML_SHIM_FILE=/nvml.txt",
    )


@pytest.fixture(scope="module")
def agent(containers: Podman, rendered: list[Object], driver: tuple[str, ...]) -> Iterator[str]:
    """The id of a container with the DaemonSet's rights and arguments."""
    told = container(rendered)
    options = (*rights(pod_spec(rendered), told, PROFILES), *driver)
    with containers.running(NAME, *told["args"], "--interval=2", options=options) as identity:
        yield identity


def gauges(containers: Podman, agent: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    text = containers("exec", agent, "python3", "-c", METRICS, check=False)
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(f"{text}\n"):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
    return found


def test_it_reads_the_pages_of_another_container(containers: Podman, workload: str, agent: str) -> None:
    for _ in range(120):
        told = gauges(containers, agent)
        if "numa_rank_mapped_bytes" in told:
            break
        time.sleep(0.5)
    else:
        pytest.fail(containers("logs", agent))
    anon = sum(value for labels, value in told["numa_rank_mapped_bytes"] if labels["backing"] == "anon")
    assert anon >= ANON
    assert {labels["unit"] for labels, _ in told["numa_rank_mapped_bytes"]} == {f"podman/{workload[:12]}"}
    assert [value for labels, value in told["numa_exporter_gpu_processes"] if labels["state"] == "attributed"] == [1]
    assert {value for _, value in told["numa_exporter_source_up"]} == {1}


def test_its_rights_are_the_daemonsets(containers: Podman, agent: str) -> None:
    status = containers("exec", agent, "cat", "/proc/self/status")
    told = dict(re.findall(r"^(\w+):\s+(.*)$", status, re.MULTILINE))
    sys_ptrace, dac_read_search = 1 << 19, 1 << 2
    for kind in ("CapEff", "CapPrm", "CapBnd"):
        assert int(told[kind], 16) == sys_ptrace | dac_read_search
    assert (told["NoNewPrivs"], told["Seccomp"]) == ("1", "2")
    assert told["Uid"].split() == ["0"] * 4


@pytest.mark.parametrize(
    "path", ["/x", "/opt/numa-exporter/x", "/host/etc/written", "/host/sys/kernel/mm/ksm/run", "/tmp/x"]
)
def test_it_can_write_nowhere(containers: Podman, agent: str, path: str) -> None:
    with pytest.raises(AssertionError, match="Read-only file system"):
        containers("exec", agent, "sh", "-c", f"echo 1 > {path}")


@pytest.mark.parametrize(("profile", "method"), [("ours", "sample"), ("podman's", None)])
def test_pages_are_asked_for_under_our_profile_only(
    containers: Podman, rendered: list[Object], driver: tuple[str, ...], profile: str, method: str | None
) -> None:
    told = container(rendered)
    if profile != "ours":
        told = told | {"securityContext": told["securityContext"] | {"seccompProfile": {"type": "RuntimeDefault"}}}
    options = (*rights(pod_spec(rendered), told, PROFILES), *driver)
    with containers.running(NAME, *told["args"], options=options) as identity:
        look = ("report", "--path.rootfs=/host", "--json", "--looks=1", "--memory.method=sample")
        report = json.loads(containers("exec", identity, "numa-exporter", *look, check=False))
    (rank,) = report["workloads"][0]["ranks"]
    assert rank["mapped_method"] == method
    # not the container's own name
    assert report["host"]["nodename"] == Path("/etc/hostname").read_text().strip()


def test_docker_and_podman_see_its_health(containers: Podman, agent: str) -> None:
    assert containers("healthcheck", "run", agent, check=False) == ""


def test_started_plainly_it_is_nobody_and_says_what_it_may_not_see(containers: Podman, driver: tuple[str, ...]) -> None:
    options = ("--pid=host", "--volume=/:/host:ro,rslave", *driver)
    with containers.running(NAME, "serve", "--path.rootfs=/host", options=options) as identity:
        assert containers("exec", identity, "id", "-u") == "65532"
        look = ("report", "--path.rootfs=/host", "--json", "--looks=1")
        report = json.loads(containers("exec", identity, "numa-exporter", *look, check=False))
    sources = {name: source["failure"] for name, source in report["sources"].items()}
    assert sources["memory"] == "denied"
    assert "CAP_SYS_PTRACE" in report["sources"]["memory"]["detail"]
    assert {sources[name] for name in ("topology", "gpus", "cgroups", "threads")} == {None}


def test_the_installer_lays_the_profile(containers: Podman, rendered: list[Object], tmp_path: Path) -> None:
    (installer,) = pod_spec(rendered)["initContainers"]
    spec = {"hostPID": False, "volumes": [{"name": "seccomp", "hostPath": {"path": str(tmp_path)}}]}
    options = (
        *rights(spec, installer, PROFILES),
        f"--volume={PROFILES}:/profile:ro",
        f"--entrypoint={json.dumps(installer['command'])}",
    )
    containers("run", "--rm", *podman.HERE, *options, NAME)
    (laid,) = tmp_path.iterdir()
    assert laid.name == container(rendered)["securityContext"]["seccompProfile"]["localhostProfile"]
    assert laid.read_text() == (PROFILES / laid.name).read_text()


def test_what_is_in_it(containers: Podman) -> None:
    """No compiler; every distribution of the lock by name and version, as a bill of materials is made from."""
    code = (
        "import importlib.metadata as m, json, shutil;"
        "print(json.dumps([{d.name.lower().replace('_', '-'): d.version for d in m.distributions()},"
        "[p for p in ('gcc', 'cc', 'clang', 'make', 'ld') if shutil.which(p)]]))"
    )
    printed = containers("run", "--rm", *podman.HERE, "--entrypoint=python3", NAME, "-I", "-c", code)
    installed, compilers = json.loads(printed)
    lock = re.findall(r"^([a-z0-9-]+)==(\S+)(.*)", (REPOSITORY / "requirements.lock").read_text(), re.MULTILINE)
    wanted = {name: version for name, version, marker in lock if "python_full_version < '3.13'" not in marker}
    assert compilers == []
    assert {name: version for name, version in installed.items() if name != "numa-exporter"} == wanted
    told = containers.inspect(NAME)
    assert told["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert told["Labels"]["org.opencontainers.image.version"] == installed["numa-exporter"]
    assert told["User"] == "65532:65532"


def test_two_builds_install_the_same_bytes(containers: Podman, tmp_path: Path) -> None:
    """Bytecode aside: how CPython shares its constants depends on what else it holds."""
    for name in ("Dockerfile", ".dockerignore", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, tmp_path)
    for lock in REPOSITORY.glob("requirements*.lock"):
        shutil.copy(lock, tmp_path)
    shutil.copytree(REPOSITORY / "numa_exporter", tmp_path / "numa_exporter")

    def digest(number: int, *options: str) -> str:
        name = f"localhost/numa-exporter:build-{number}"
        store = image.build(name, *options, tree=tmp_path)
        files = "find . -type f ! -name '*.pyc' -print0"
        command = f"cd /opt/numa-exporter && {files} | sort -z | xargs -0 sha256sum | sha256sum"
        try:
            return containers("run", "--rm", *podman.HERE, "--entrypoint", '["sh", "-c"]', name, command)
        finally:
            store.buildah("rmi", "--force", name)

    assert digest(1) == digest(2, "--no-cache")
