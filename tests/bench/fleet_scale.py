"""A fleet of a thousand machines in one Prometheus: series, rule evaluation, the questions of the Fleet dashboard."""

import shutil
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml

from deploy.demo import rules, servers
from deploy.demo.servers import Server
from tests.bench.benchmark import Bar, Benchmark, Cell, Result, UnableError
from tests.grafana.dashboards import Question, questions

MACHINES, GPUS = 1_000, 8
INTERVAL = 30
EVALUATIONS = 3
"""Of every rule after the first whole round of scrapes: the first ones build on rules that have not run yet."""
SERIES_A_MACHINE = 1_500
FULL = 0.99
"""Share of the machines that answer: on a busy machine one scrape of a thousand is late."""


def run() -> Result:
    if not servers.installed():
        raise UnableError("needs prometheus and prometheus-alertmanager (Debian)")
    with watched_fleet() as prometheus:
        shown = len([line for line in _fetch(_fleet_url(prometheus)).splitlines() if not line.startswith("#")])
        groups = prometheus.get("/api/v1/rules")["data"]["groups"]
        evaluation = {group["name"]: float(group["evaluationTime"]) for group in groups}
        asked = {
            question.where: _seconds(prometheus, question) for question in questions() if question.dashboard == "fleet"
        }
        head = float(_ask(prometheus, "prometheus_tsdb_head_series")[0]["value"][1])
        slowest = max(asked, key=lambda where: asked[where])
        rows: list[tuple[Cell, ...]] = [
            ("series a machine exposes", shown),
            ("series in the head, recorded ones included", head),
            *((f"rules of {name}, seconds", seconds) for name, seconds in evaluation.items()),
            ("all rules, seconds of each minute", sum(evaluation.values())),
            (f"slowest Fleet query ({slowest}), seconds", asked[slowest]),
            ("all Fleet queries one after the other, seconds", sum(asked.values())),
            ("resident memory of Prometheus, GiB", _resident(prometheus) / (1 << 30)),
        ]
        return Result(
            columns=("what", "value"),
            rows=tuple(rows),
            bars=(
                Bar(what="series a machine exposes", measured=shown, limit=SERIES_A_MACHINE),
                Bar(what="all rules, seconds of each minute", measured=sum(evaluation.values()), limit=30),
                Bar(what="slowest Fleet query, seconds", measured=asked[slowest], limit=5),
            ),
            notes=(
                f"{MACHINES} machines of {GPUS} GPUs, 7 ranks each, scraped each {INTERVAL} s for a few minutes: range "
                "queries find that much data, whatever range they ask for",
            ),
        )


@contextmanager
def watched_fleet() -> Iterator[Server]:
    """A Prometheus that has scraped every machine and evaluated every rule."""
    folder = Path(tempfile.mkdtemp(prefix="fleet-"))
    try:
        with ExitStack() as running:
            port = servers.free_port()
            command = [str(Path(sys.executable).parent / "numa-exporter"), "demo", "--fleet", str(MACHINES)]
            command += ["--web.listen-address", f"127.0.0.1:{port}", "--log.level", "error"]
            fleet = running.enter_context(Server(command, port, folder / "fleet.log"))
            fleet.wait("/", seconds=300)
            file = folder / "prometheus.yml"
            file.write_text(yaml.safe_dump(_config(fleet.url, own := servers.free_port())))
            for name in rules.FILES:
                shutil.copy(rules.RULES / f"{name}.rules.yaml", folder)
            prometheus = running.enter_context(servers.prometheus(file, folder / "data", own))
            prometheus.wait()
            _until_evaluated(prometheus)
            yield prometheus
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _config(fleet_url: str, own_port: int) -> Mapping[str, Any]:
    machines = {"job_name": "numa-exporter", "http_sd_configs": [{"url": f"{fleet_url}/sd"}]}
    itself = {"job_name": "prometheus", "static_configs": [{"targets": [f"127.0.0.1:{own_port}"]}]}
    return {
        "global": {"scrape_interval": f"{INTERVAL}s", "scrape_timeout": f"{INTERVAL}s", "evaluation_interval": "1m"},
        "rule_files": ["*.rules.yaml"],
        "scrape_configs": [machines, itself],
    }


def _until_evaluated(prometheus: Server, seconds: float = 900) -> None:
    until = time.monotonic() + seconds
    full_since = None
    while time.monotonic() < until:
        up = _ask(prometheus, 'sum(up{job="numa-exporter"})')
        if up and float(up[0]["value"][1]) >= FULL * MACHINES:
            full_since = full_since or time.monotonic()
            if time.monotonic() - full_since > 60 * EVALUATIONS + 30:
                return
        time.sleep(5)
    raise RuntimeError(f"{MACHINES} machines were not all scraped within {seconds:g} s")


def _ask(prometheus: Server, expr: str) -> list[dict[str, Any]]:
    answer = prometheus.get("/api/v1/query", query=expr)
    found: list[dict[str, Any]] = answer["data"]["result"]
    return found


def _seconds(prometheus: Server, question: Question) -> float:
    """The better of two: the second finds what the first has loaded."""
    taken = []
    for _ in range(2):
        now, began = time.time(), time.perf_counter()
        if question.instant:
            answer = prometheus.get("/api/v1/query", query=question.expr)
        else:
            window = {"start": now - 6 * 3600, "end": now, "step": 60}
            answer = prometheus.get("/api/v1/query_range", query=question.expr, **window)
        assert answer["status"] == "success", (question, answer.get("error"))
        taken.append(time.perf_counter() - began)
    return min(taken)


def _fleet_url(prometheus: Server) -> str:
    targets = prometheus.get("/api/v1/targets", state="active")["data"]["activeTargets"]
    return str(next(target["scrapeUrl"] for target in targets if target["labels"]["job"] == "numa-exporter"))


def _fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return str(answer.read().decode())


def _resident(prometheus: Server) -> float:
    return float(_ask(prometheus, 'process_resident_memory_bytes{job="prometheus"}')[0]["value"][1])


BENCHMARK = Benchmark(
    name="fleet_scale",
    title="A fleet in one Prometheus",
    method=f"{MACHINES} simulated machines of {GPUS} GPUs (`numa-exporter demo --fleet`; every tenth has ranks that are "
    "wrong) scraped by Debian's Prometheus with the rules of deploy/rules, unchanged: how long each group of rules takes, "
    "and each query of the Fleet dashboard, the better of two.",
    run=run,
)
