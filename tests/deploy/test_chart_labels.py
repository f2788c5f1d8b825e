"""Labels, annotations, variables and scrape settings of your own beside the chart's: each key once, whoever says it."""

from typing import Any

import pytest

from tests.deploy.chart import CHART, Helm, Object, UniqueKeys, container, one, yaml

SELECTOR = {"app.kubernetes.io/name": "numa-exporter", "app.kubernetes.io/instance": "numa-exporter"}
COMPONENT = "app.kubernetes.io/component"
MONITORING = {"podMonitor.enabled": True, "prometheusRule.enabled": True, "dashboards.enabled": True}


def labels(made: Object) -> dict[str, str]:
    return dict(made["metadata"]["labels"])


def test_the_loader_of_these_tests_refuses_a_key_twice() -> None:
    with pytest.raises(yaml.constructor.ConstructorError, match="a key twice"):
        Helm.objects("kind: A\nkind: B\n")
    assert issubclass(UniqueKeys, yaml.SafeLoader)


def test_a_label_of_yours_goes_before_ours_on_every_object(helm: Helm) -> None:
    yours = {COMPONENT: "monitoring", "team": "gpu"}
    objects = helm.template({"commonLabels": yours, "openshift.enabled": True, **MONITORING})
    for made in objects:
        assert yours.items() <= labels(made).items(), made["kind"]
        assert SELECTOR.items() <= labels(made).items(), made["kind"]


def test_an_objects_own_label_goes_before_the_common_one(helm: Helm) -> None:
    own = {"team": "prometheus", "release": "stack"}
    keys = ("podMonitor.additionalLabels", "prometheusRule.additionalLabels", "dashboards.labels", "podLabels")
    objects = helm.template({"commonLabels": {"team": "gpu"}, **dict.fromkeys(keys, own), **MONITORING})
    pods = one(objects, "DaemonSet")["spec"]["template"]
    boards = [made for made in objects if made["metadata"]["name"].endswith("-machines")]
    for made in (pods, one(objects, "PodMonitor"), one(objects, "PrometheusRule"), *boards):
        assert own.items() <= labels(made).items()
    assert labels(one(objects, "DaemonSet"))["team"] == "gpu"


@pytest.mark.parametrize("major", [3, 4])
def test_what_pods_are_selected_by_cannot_be_overridden_even_past_the_schema(
    helms: dict[int, Helm], major: int
) -> None:
    wrong = "commonLabels.app\\.kubernetes\\.io/name=mine,podLabels.app\\.kubernetes\\.io/instance=mine"
    chosen = ("--skip-schema-validation", f"--set={wrong}")
    objects = Helm.objects(helms[major].run("template", "numa-exporter", str(CHART), *chosen))
    daemonset = one(objects, "DaemonSet")["spec"]
    assert daemonset["selector"]["matchLabels"] == SELECTOR
    assert SELECTOR.items() <= labels(daemonset["template"]).items()


@pytest.mark.parametrize("version", ["1.25.0", "1.31.0"])
def test_an_annotation_of_yours_goes_before_ours(helm: Helm, version: str) -> None:
    apparmor = "container.apparmor.security.beta.kubernetes.io/numa-exporter"
    yours = {"kubectl.kubernetes.io/default-container": "other", apparmor: "localhost/numa"}
    objects = helm.template({"podAnnotations": yours}, version)
    annotations = one(objects, "DaemonSet")["spec"]["template"]["metadata"]["annotations"]
    assert yours.items() <= annotations.items()
    assert annotations.keys() - yours.keys() == {"checksum/seccomp"}


def test_a_variable_of_yours_takes_the_place_of_ours(helm: Helm) -> None:
    yours = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}, {"name": "MORE", "value": "1"}]
    env = container(helm.template({"extraEnv": yours}))["env"]
    assert len({pair["name"] for pair in env}) == len(env) == 4
    assert env[-2:] == yours


def test_scrapes_take_more_settings_and_keep_ours(helm: Helm) -> None:
    more: dict[str, Any] = {"tlsConfig": {"serverName": "numa"}, "enableHttp2": False}
    rules = [{"action": "drop", "regex": "x", "sourceLabels": ["y"]}]
    values = {"podMonitor.enabled": True, "podMonitor.endpoint": more, "podMonitor.metricRelabelings": rules}
    (plain,) = one(helm.template({"podMonitor.enabled": True}), "PodMonitor")["spec"]["podMetricsEndpoints"]
    (endpoint,) = one(helm.template(values), "PodMonitor")["spec"]["podMetricsEndpoints"]
    assert endpoint == {**plain, **more, "metricRelabelings": rules}
    assert endpoint["honorLabels"] is True
