"""A fleet of a thousand machines in one Prometheus: series, rule evaluation, the questions of the Fleet dashboard."""

import os
import shutil
import signal
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
import yaml

from deploy.demo import rules, servers
from deploy.demo.servers import Server
from tests.bench.benchmark import Bar, Benchmark, Result, UnableError
from tests.grafana.dashboards import Question, questions

MACHINES, GPUS = 1_000, 8
INTERVAL = 30
EVALUATIONS = 3
"""Of every rule after the first whole round of scrapes: the first ones build on rules that have not run yet."""
SERIES_A_MACHINE = 1_500
FULL = 0.99
"""Share of the machines that answer: on a busy machine one scrape of a thousand is late."""


def run() -> Iterator[Result]:
    if not servers.installed():
        raise UnableError("needs prometheus and prometheus-alertmanager (Debian)")
    with watched_fleet() as (prometheus, file):
        shown = len([line for line in _fetch(_fleet_url(prometheus)).splitlines() if not line.startswith("#")])
        head = _number(prometheus, "prometheus_tsdb_head_series")
        resident = _number(prometheus, 'process_resident_memory_bytes{job="prometheus"}')
        at = time.time()
        _quiet(prometheus, file)
        groups = {name: _cpu_seconds(prometheus, exprs, at) for name, exprs in _rules().items()}
        asked = [question for question in questions() if question.dashboard == "fleet"]
        queries = {question.where: _cpu_seconds(prometheus, [question.expr], at, question) for question in asked}
    slowest = max(queries, key=lambda where: queries[where])
    every_minute = sum(groups.values())
    yield Result(
        columns=("what", "value"),
        rows=(
            ("series a machine exposes", shown),
            ("series in the head, recorded ones included", head),
            ("resident memory of Prometheus, GiB", resident / (1 << 30)),
            *((f"rules of {name}, CPU seconds", seconds) for name, seconds in groups.items()),
            ("all rules, CPU seconds of each minute", every_minute),
            (f"costliest Fleet query ({slowest}), CPU seconds", queries[slowest]),
            ("all Fleet queries, CPU seconds", sum(queries.values())),
        ),
        bars=(
            Bar(what="series a machine exposes", measured=shown, limit=SERIES_A_MACHINE),
            Bar(what="all rules, CPU seconds of each minute", measured=every_minute, limit=30),
            Bar(what="costliest Fleet query, CPU seconds", measured=queries[slowest], limit=5),
        ),
        notes=(
            f"{MACHINES} machines of {GPUS} GPUs, 7 ranks each, scraped each {INTERVAL} s for a few minutes: range "
            "queries find that much data, whatever range they ask for",
        ),
    )


@contextmanager
def watched_fleet() -> Iterator[tuple[Server, Path]]:
    """A Prometheus that has scraped every machine and evaluated every rule, and its configuration."""
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
            yield prometheus, file
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


def _quiet(prometheus: Server, file: Path) -> None:
    """Nothing is scraped or evaluated any more: whatever CPU time is used from here on is a question's."""
    file.write_text("global: {}\n")
    os.kill(prometheus.pid, signal.SIGHUP)
    process = psutil.Process(prometheus.pid)
    while process.cpu_percent(interval=5) > 5:
        pass


def _rules() -> dict[str, list[str]]:
    """What each group asks."""
    files = [yaml.safe_load((rules.RULES / f"{name}.rules.yaml").read_text()) for name in rules.FILES]
    return {group["name"]: [rule["expr"] for rule in group["rules"]] for file in files for group in file["groups"]}


def _cpu_seconds(prometheus: Server, exprs: list[str], at: float, question: Question | None = None) -> float:
    """CPU time of Prometheus for these expressions, one after the other: what it costs however busy the machine is."""
    process = psutil.Process(prometheus.pid)
    before = process.cpu_times()
    for expr in exprs:
        if question is None or question.instant:
            answer = prometheus.get("/api/v1/query", query=expr, time=at)
        else:
            answer = prometheus.get("/api/v1/query_range", query=expr, start=at - 6 * 3600, end=at, step=60)
        assert answer["status"] == "success", (expr, answer.get("error"))
    after = process.cpu_times()
    return after.user + after.system - before.user - before.system


def _fleet_url(prometheus: Server) -> str:
    targets = prometheus.get("/api/v1/targets", state="active")["data"]["activeTargets"]
    return str(next(target["scrapeUrl"] for target in targets if target["labels"]["job"] == "numa-exporter"))


def _fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return str(answer.read().decode())


def _number(prometheus: Server, expr: str) -> float:
    return float(_ask(prometheus, expr)[0]["value"][1])


BENCHMARK = Benchmark(
    name="fleet_scale",
    title="A fleet in one Prometheus",
    method=f"{MACHINES} simulated machines of {GPUS} GPUs (`numa-exporter demo --fleet`; one of ten has wrong ranks) "
    "scraped by Debian's Prometheus with the rules of deploy/rules, unchanged. CPU time of Prometheus for one run "
    "of each group of rules, and for each query of the Fleet dashboard over 6 hours.",
    run=run,
)
