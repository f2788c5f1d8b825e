"""The chart as Helm renders it, and the kustomize folders as kubectl does."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
CHART = REPOSITORY / "deploy" / "helm" / "numa-exporter"
KUSTOMIZE = REPOSITORY / "deploy" / "kustomize"
NAME = "numa-exporter"
RECENT = "1.31.0"
"""The release from which on the chart may say recursiveReadOnly and appArmorProfile."""

Object = dict[str, Any]


class UniqueKeys(yaml.SafeLoader):
    """YAML as the API server takes it strictly: a key that comes twice is a ConstructorError, not the last one's."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key) for key, _ in node.value]
        if len(keys) != len(set(keys)):
            raise yaml.constructor.ConstructorError(None, None, f"a key twice among {keys}", node.start_mark)
        return super().construct_mapping(node, deep)


class HelmError(Exception):
    """What Helm said on standard error."""


@dataclass(frozen=True, slots=True)
class Helm:
    """One Helm with the kubectl that came with it."""

    folder: Path

    def run(self, *arguments: str) -> str:
        done = subprocess.run([self.folder / "helm", *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise HelmError(done.stdout + done.stderr)
        return done.stdout

    def template(self, values: Mapping[str, Any] | None = None, version: str = RECENT) -> list[Object]:
        """The objects of a release; `values` go through --set-json, one argument a key."""
        return self.objects(self.text(values, version))

    @staticmethod
    def objects(text: str) -> list[Object]:
        return [made for made in yaml.load_all(text, UniqueKeys) if made]  # a subclass of SafeLoader

    def text(self, values: Mapping[str, Any] | None = None, version: str = RECENT, *more: str) -> str:
        chosen = [f"--set-json={key}={json.dumps(value)}" for key, value in (values or {}).items()]
        return self.run("template", NAME, str(CHART), "--namespace", NAME, "--kube-version", version, *chosen, *more)

    def kustomize(self, folder: str) -> list[Object]:
        command = [self.folder / "kubectl", "kustomize", KUSTOMIZE / folder]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return list(yaml.safe_load_all(done.stdout))


def one(objects: list[Object], kind: str) -> Object:
    """The only object of that kind."""
    (found,) = (made for made in objects if made["kind"] == kind)
    return found


def pod_spec(objects: list[Object]) -> Object:
    spec: Object = one(objects, "DaemonSet")["spec"]["template"]["spec"]
    return spec


def container(objects: list[Object]) -> Object:
    """The agent's own container."""
    (found,) = pod_spec(objects)["containers"]
    return dict(found)
