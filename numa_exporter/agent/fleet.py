"""A simulated fleet on one port: /metrics?node=K for each machine, and /sd, the targets for Prometheus' http_sd."""

import asyncio
from collections.abc import Callable, Sequence

from aiohttp import web

Render = Callable[[int], bytes]
"""The metrics of machine K, in text format 0.0.4."""

TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Fleet:
    """``names`` of all machines, how one is rendered, and what happens each ``interval`` seconds in between."""

    def __init__(self, names: Sequence[str], render: Render, tick: Callable[[], None], interval: float) -> None:
        self.names = tuple(names)
        self.render = render
        self._tick = tick
        self._interval = interval

    async def run(self) -> None:
        """Tick for ever, in a thread: answers go on meanwhile."""
        while True:
            await asyncio.sleep(self._interval)
            await asyncio.to_thread(self._tick)


FLEET = web.AppKey("fleet", Fleet)


def application(fleet: Fleet) -> web.Application:
    app = web.Application()
    app[FLEET] = fleet
    app.router.add_get("/metrics", metrics)
    app.router.add_get("/sd", targets)
    app.router.add_get("/", index)
    return app


async def metrics(request: web.Request) -> web.Response:
    fleet = request.app[FLEET]
    number = request.query.get("node", "")
    if not number.isdecimal() or int(number) >= len(fleet.names):
        raise web.HTTPBadRequest(text=f"/metrics?node=K, with K from 0 to {len(fleet.names) - 1}\n")
    return web.Response(body=fleet.render(int(number)), headers={"Content-Type": TEXT})


async def targets(request: web.Request) -> web.Response:
    """https://prometheus.io/docs/prometheus/latest/http_sd/: one target group for each machine."""
    groups = [
        {"targets": [request.host], "labels": {"__param_node": str(number), "node": name, "instance": name}}
        for number, name in enumerate(request.app[FLEET].names)
    ]
    return web.json_response(groups)


async def index(request: web.Request) -> web.Response:
    fleet = request.app[FLEET]
    return web.Response(text=f"{len(fleet.names)} simulated machines: /metrics?node=K, targets for http_sd at /sd\n")


async def start(fleet: Fleet, host: str | None, port: int) -> tuple[web.AppRunner, int]:
    """Listen. Returns the runner and the port really bound. OSError where the port is taken."""
    runner = web.AppRunner(application(fleet), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, reuse_address=True).start()
    except OSError:
        await runner.cleanup()
        raise
    bound: int = runner.addresses[0][1]
    return runner, bound
