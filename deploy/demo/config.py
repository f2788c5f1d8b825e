"""Configuration of Prometheus and Alertmanager for the demo, from the files that are shipped."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from . import rules

ALERTMANAGER = Path(__file__).resolve().parent.parent / "alertmanager" / "alertmanager.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A simulated machine: where it answers and what its `node` label is."""

    url: str
    node: str

    @property
    def labels(self) -> dict[str, str]:
        """What a scrape gives its series, and a history must give them too."""
        return {"instance": urlsplit(self.url).netloc, "job": "numa-exporter", "node": self.node}


def prometheus(folder: Path, targets: Iterable[Target], alertmanager_url: str, *, interval: int, patience: int) -> Path:
    """prometheus.yml and rules in ``folder``; ``patience`` seconds instead of each alert's `for`."""
    for name in rules.FILES:
        text = (rules.RULES / f"{name}.rules.yaml").read_text()
        (folder / f"{name}.rules.yaml").write_text(rules.impatient(text, interval, patience))
    scraped = [{"targets": [urlsplit(target.url).netloc], "labels": {"node": target.node}} for target in targets]
    config = {
        "global": {"scrape_interval": f"{interval}s", "evaluation_interval": f"{interval}s"},
        "rule_files": ["*.rules.yaml"],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [urlsplit(alertmanager_url).netloc]}]}]},
        "scrape_configs": [{"job_name": "numa-exporter", "static_configs": scraped}],
    }
    file = folder / "prometheus.yml"
    file.write_text(yaml.safe_dump(config, sort_keys=False))
    return file


def alertmanager(folder: Path, webhook_url: str) -> Path:
    """The example route of deploy/alertmanager without its patience, its two receivers pointed at ``webhook_url``."""
    text = ALERTMANAGER.read_text()
    text = re.sub(r"http://127\.0\.0\.1:9095", webhook_url, text)
    text = re.sub(r"^(\s*group_wait:) \S+", r"\1 0s", text, flags=re.MULTILINE)
    text = re.sub(r"^(\s*group_interval:) \S+", r"\1 1s", text, flags=re.MULTILINE)
    file = folder / "alertmanager.yml"
    file.write_text(text)
    return file
