"""Compiles Kubernetes 1.20 from Debian's source package with Debian's Go 1.19, vendored: no module proxy is asked."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

COMMANDS = ("kube-apiserver", "kubelet", "kube-controller-manager", "kube-scheduler")
VERSION = "v1.20.2"  # of the upstream tree in bookworm's package 1.20.5+really1.20.2
TAGS = "providerless,dockerless"  # without the clouds' libraries and dockershim: a third of the work
MODULE = "k8s.io/kubernetes"
OPENAPI_MARK = "+k8s:openapi-gen=true"
OPENAPI_NOT_FROM = re.compile(
    r"_test\.go|zz_generated|/testdata/|/examples/|sample-|code-generator|kube-openapi"  # as hack/make-rules has it
)


def build(source: Path, *, go_root: Path, go_path: Path, binaries: Path) -> None:
    """Puts COMMANDS into `binaries`; `source` is the tree, at its place below `go_path`."""
    environment = os.environ | {
        "PATH": f"{go_root}/bin:{os.environ['PATH']}",
        "GOROOT": str(go_root),
        "GOPATH": str(go_path),
        "GOCACHE": str(go_path / "cache"),
        "GO111MODULE": "off",  # the tree's go.mod is too old for the vendoring checks of Go 1.19
        "GOFLAGS": "",
        "CGO_ENABLED": "0",
    }
    _generate_openapi(source, environment)
    packages = [f"./cmd/{command}" for command in COMMANDS]
    options = ("-p", "2", "-tags", TAGS, "-ldflags", _stamp())
    _run("go", "build", *options, "-o", f"{binaries}/", *packages, at=source, env=environment)


def _generate_openapi(source: Path, environment: Mapping[str, str]) -> None:
    """pkg/generated/openapi is not in the tarball: upstream makes it on every build."""
    generator = source / "openapi-gen"
    _run(
        "go", "build", "-o", str(generator), "./vendor/k8s.io/kube-openapi/cmd/openapi-gen", at=source, env=environment
    )
    options = [
        "-h",
        "hack/boilerplate/boilerplate.generatego.txt",
        "-O",
        "zz_generated.openapi",
        "-r",
        "violations.txt",
    ]
    output = ["-p", f"{MODULE}/pkg/generated/openapi", "-i", ",".join(_openapi_packages(source))]
    _run(str(generator), "--logtostderr", *options, *output, at=source, env=environment)


def _openapi_packages(source: Path) -> list[str]:
    found = set()
    for top in ("pkg", "staging/src/k8s.io", "cmd"):
        for file in (source / top).rglob("*.go"):
            name = str(file.relative_to(source))
            if not OPENAPI_NOT_FROM.search(name) and OPENAPI_MARK in file.read_text():
                package = os.path.dirname(name)
                vendored = package.removeprefix("staging/src/")
                found.add(f"{MODULE}/{package}" if vendored == package else f"{MODULE}/vendor/{vendored}")
    return sorted(found)


def _stamp() -> str:
    """The version for the linker; without it the API server says v0.0.0 and clients refuse it."""
    base = f"{MODULE}/vendor/k8s.io/component-base/version"
    major, minor, _ = VERSION.removeprefix("v").split(".")
    values = {
        f"{base}.gitVersion": VERSION,
        f"{base}.gitMajor": major,
        f"{base}.gitMinor": minor,
        f"{MODULE}/vendor/k8s.io/client-go/pkg/version.gitVersion": VERSION,
    }
    return " ".join(["-s", "-w", *(f"-X {name}={value}" for name, value in values.items())])


def _run(*command: str, at: Path, env: Mapping[str, str]) -> None:
    subprocess.run(["nice", *command], cwd=at, env=env, check=True)
