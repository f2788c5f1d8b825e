"""The chart's schema: what it refuses, what it takes, and that it knows what the exporter knows."""

import argparse
import json
from typing import Any

import pytest
import yaml

from numa_exporter.cli.main import parser
from numa_exporter.model.thresholds import Thresholds, limits
from tests.deploy.chart import CHART, Helm, HelmError, one, pod_spec

SCHEMA = json.loads((CHART / "values.schema.json").read_text())


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"resources.limits.cpu": "1"}, "cpu"),
        ({"nvml.access": "magic"}, "access"),
        ({"nvml.acess": "none"}, "acess"),
        ({"capabilities": ["SYS_PTRACE", "NET_ADMIN"]}, "capabilities"),
        ({"web.port": 70000}, "port"),
        ({"web.port": "10062"}, "port"),
        ({"interval": 0}, "interval"),
        ({"log.level": "verbose"}, "level"),
        ({"seccomp.profile": "../escape.json"}, "profile"),
        ({"updateStrategy.maxUnavailable": "0%"}, "maxUnavailable"),
        ({"thresholds": {"memory": "many"}}, "memory"),
        ({"thresholds": {"memory": 30}}, "memory"),
        ({"thresholds": {"memory": "30"}}, "memory"),
        ({"sources": {"traffic": "no"}}, "traffic"),
        ({"image.digest": "sha256:12"}, "digest"),
        ({"podMonitor.interval": "15"}, "interval"),
        ({"kubelet.root": "var/lib/kubelet"}, "root"),
        ({"kubelet.criSocket": "containerd.sock"}, "criSocket"),
        ({"gpuNodeLabels": [{"values": ["true"]}]}, "key"),
        ({"extraArgs": ["web.page"]}, "extraArgs"),
        ({"sources": {"trafic": False}}, "trafic"),
        ({"thresholds": {"memory-byte": "1GiB"}}, "memory-byte"),
        ({"nameOverride": "Numa_Exporter"}, "nameOverride"),
        ({"web.tls": True}, "configSecret"),
        ({"seccomp.profile": "operator/numa.json"}, "profile"),
        ({"commonLabels": {"app.kubernetes.io/name": "mine"}}, "commonLabels"),
        ({"podLabels": {"app.kubernetes.io/instance": "mine"}}, "podLabels"),
        ({"podMonitor.endpoint": {"honorLabels": False}}, "endpoint"),
        ({"podMonitor.interval": "1m1h"}, "interval"),
        ({"podMonitor.interval": "1s1s"}, "interval"),
        ({"prometheusRule.runbooks": "/docs"}, "runbooks"),
        ({"extraVolumes": [{"name": "host", "emptyDir": {}}]}, "extraVolumes"),
        ({"extraVolumeMounts": [{"name": "more", "mountPath": "opt"}]}, "extraVolumeMounts"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
@pytest.mark.parametrize("major", [3, 4])
def test_the_schema_refuses(helms: dict[int, Helm], major: int, values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(HelmError, match=complaint):
        helms[major].text(values)


def test_schema_and_values_name_the_same() -> None:
    """What can be set is shown with its default, and what is shown is checked."""

    def shown(values: Any, schema: Any, path: str) -> None:
        properties = schema.get("properties")
        if properties is None or schema.get("additionalProperties") is not False:
            return
        missing = set(properties) - set(values) - {"global"}
        # A probe's and a resource's fields are Kubernetes' own, those of the other two are in docs/flags.md.
        elsewhere = (".probes.", ".resources.", ".sources", ".thresholds")
        assert not missing or path.startswith(elsewhere), f"{path}: values.yaml lacks {missing}"
        assert set(values) <= set(properties), path
        for name, value in values.items():
            shown(value, properties[name], f"{path}.{name}")

    values = yaml.safe_load((CHART / "values.yaml").read_text())
    shown(values, json.loads((CHART / "values.schema.json").read_text()), "")


@pytest.mark.parametrize(
    "values",
    [
        {"podMonitor.enabled": True, "podMonitor.interval": "1d", "podMonitor.scrapeTimeout": "1m30s500ms"},
        {"podMonitor.endpoint": {"tlsConfig": {"serverName": "numa"}, "honorTimestamps": False}},
        {"seccomp.profile": "operator/numa.json", "seccomp.install": False},
        {"commonLabels": {"app.kubernetes.io/part-of": "gpus"}},
    ],
    ids=["durations", "endpoint", "operator", "labels"],
)
def test_the_schema_takes(helm: Helm, values: dict[str, Any]) -> None:
    assert one(helm.template(values), "DaemonSet")


@pytest.mark.parametrize(("key", "prefix"), [("sources", "--source."), ("thresholds", "--threshold.")])
def test_names_are_the_exporters_own(key: str, prefix: str) -> None:
    (verbs,) = (action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    flags = [flag for action in verbs.choices["serve"]._actions for flag in action.option_strings]
    names = [flag.removeprefix(prefix) for flag in flags if flag.startswith(prefix)]
    assert names
    assert SCHEMA["properties"][key]["properties"].keys() == set(names)


def test_shares_are_the_exporters_own() -> None:
    kinds = SCHEMA["properties"]["thresholds"]["properties"]
    for limit in limits(Thresholds()):
        kind = "share" if limit.share else "limit"
        assert kinds[limit.name.replace("_", "-")] == {"$ref": f"#/definitions/{kind}"}, limit.name


def test_names_of_volumes_that_are_taken(helm: Helm) -> None:
    everything = {"web.configSecret": "web", "intents": [{"codes": ["cpu_remote"], "reason": "a trial"}]}
    used = {
        volume["name"] for volume in pod_spec(helm.template({"nvml.access": "driverRoot", **everything}))["volumes"]
    }
    assert set(SCHEMA["definitions"]["volumes"]["items"]["properties"]["name"]["not"]["enum"]) == used
