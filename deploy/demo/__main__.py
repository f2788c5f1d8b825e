"""Starts the demo with Prometheus and Alertmanager where they are installed, and prints where to look."""

import os
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from . import config, history, servers
from .config import Target
from .webhook import Notifications, Webhook

PAST = 140 * 60
"""Drift asks for an hour of readings that are an hour old."""
PATIENCE = 15
DRIFT_SHOWS = 65
"""Seconds, measured: its rules build on each other, a step each INTERVAL, and the alert is patient too."""
INTERVAL = 5
NODE = "simulated-node"


def main() -> None:
    exporter = str(Path(sys.executable).parent / "numa-exporter")
    if not servers.installed():
        print("No Prometheus and Alertmanager here (Debian: prometheus, prometheus-alertmanager): the demo alone.")
        os.execv(exporter, [exporter, "demo", *sys.argv[1:]])
    # Both end the servers as well: an exception unwinds the stack.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))
    with tempfile.TemporaryDirectory(prefix="numa-demo-") as name, ExitStack() as running:
        try:
            _run(exporter, Path(name), running)
        except servers.ServerError as error:
            sys.exit(f"make demo: {error}")
        while True:
            signal.pause()


def _run(exporter: str, folder: Path, running: ExitStack) -> None:
    ports = {"demo": _port(10062), "prometheus": _port(9090), "alertmanager": _port(9093)}
    target = Target(url=f"http://127.0.0.1:{ports['demo']}", node=NODE)
    print(f"Simulating {PAST // 60} minutes of a machine …", flush=True)
    samples = folder / "history.om"
    labels = [part for pair in target.labels.items() for part in ("--history.label", "=".join(pair))]
    listen = f"127.0.0.1:{ports['demo']}"
    command = [exporter, "demo", "--web.listen-address", listen, "--log.level", "error", *sys.argv[1:]]
    command += ["--past", f"{PAST}s", "--history", str(samples), *labels]
    demo = running.enter_context(servers.Server(command, ports["demo"], folder / "demo.log"))
    demo.wait(seconds=600)
    end = time.time()
    print("Writing its history into Prometheus …", flush=True)
    history.fill(folder / "data", [samples], end - PAST, end)
    said = Notifications(demo.get("/api/v1/report"))
    webhook = running.enter_context(Webhook(said.say))
    route = config.alertmanager(folder, webhook.url)
    alerts = running.enter_context(servers.alertmanager(route, folder / "alerts", ports["alertmanager"]))
    file = config.prometheus(folder, [target], alerts.url, interval=INTERVAL, patience=PATIENCE)
    prometheus = running.enter_context(servers.prometheus(file, folder / "data", ports["prometheus"]))
    alerts.wait()
    prometheus.wait()
    print(
        f"""
the machine       {demo.url}/
its metrics       {demo.url}/metrics
Prometheus        {prometheus.url}/alerts   (alerts wait {PATIENCE} s here, not their minutes and hours)
Alertmanager      {alerts.url}/
dashboards        import grafana/*.json into a Grafana that reads {prometheus.url}

Notifications appear below: tickets first, the page for what drifted within about {DRIFT_SHOWS} s.
Ctrl-C ends everything.""",
        flush=True,
    )


def _port(wish: int) -> int:
    """The usual port if it is free."""
    return wish if servers.is_free(wish) else servers.free_port()


if __name__ == "__main__":
    main()
