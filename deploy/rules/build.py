#!/usr/bin/env python3
"""Writes the rule files beside it as PrometheusRule objects, for clusters that run the Prometheus Operator.

The plain files are the only source. Their text is indented under `spec`, comments included: no YAML library is needed,
and what a person reads in the cluster is what was reviewed.
"""

from pathlib import Path

RULES = Path(__file__).resolve().parent
OBJECTS = {
    "prometheusrule.yaml": ("numa-exporter", ("drift", "rollups", "alerts")),
    # Optional, hence an object of its own: it pages.
    "prometheusrule-pain.yaml": ("numa-exporter-pain", ("pain",)),
}
HEADER = """\
# Generated from {sources} by deploy/rules/build.py.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: {name}
  labels:
    app.kubernetes.io/name: numa-exporter
spec:
  groups:
"""


def prometheus_rule(name: str, subjects: tuple[str, ...]) -> str:
    """Text of one PrometheusRule that holds the groups of these rule files."""
    files = [RULES / f"{subject}.rules.yaml" for subject in subjects]
    body = [line for file in files for line in indented(file.read_text())]
    header = HEADER.format(name=name, sources=", ".join(file.name for file in files))
    return header + "\n".join(body) + "\n"


def indented(text: str) -> list[str]:
    """Lines of one rule file without its `groups:`, two columns further in; block scalars keep their meaning."""
    return [f"  {line}" if line else "" for line in text.splitlines() if line != "groups:"]


def main() -> None:
    for file, (name, subjects) in OBJECTS.items():
        (RULES / file).write_text(prometheus_rule(name, subjects))


if __name__ == "__main__":
    main()
