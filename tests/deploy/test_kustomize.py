"""The kustomize folders and the chart are one thing twice."""

import copy
from typing import Any

import pytest

from tests.deploy.chart import Helm, Object

OF_HELM = ("app.kubernetes.io/managed-by", "helm.sh/chart")
MONITORING = {"podMonitor.enabled": True, "prometheusRule.enabled": True, "dashboards.enabled": True}


def by_name(objects: list[Object]) -> dict[tuple[str, str], Object]:
    """Objects without the labels by which Helm knows its own."""
    made = {}
    for one in copy.deepcopy(objects):
        templates = (one, one.get("spec", {}).get("template", {}))
        for labels in (part.get("metadata", {}).get("labels", {}) for part in templates):
            for label in OF_HELM:
                labels.pop(label, None)
        made[one["kind"], one["metadata"]["name"]] = one
    return made


@pytest.mark.parametrize(("folder", "values"), [("base", {}), ("monitoring", MONITORING)])
def test_same_objects_as_the_chart(helm: Helm, folder: str, values: dict[str, Any]) -> None:
    ours = by_name(helm.kustomize(folder))
    namespace = ours.pop(("Namespace", "numa-exporter"))  # Helm cannot own the namespace that keeps its release
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    theirs = by_name(helm.template(values))
    assert ours.keys() == theirs.keys()
    for name, made in ours.items():
        assert made == theirs[name], name


def test_both_kubectls_render_the_same(helms: dict[int, Helm]) -> None:
    assert helms[3].kustomize("monitoring") == helms[4].kustomize("monitoring")
