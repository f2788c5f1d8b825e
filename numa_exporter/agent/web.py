"""HTTP, the only owner of aiohttp. No handler reads the host or waits for it; a scrape gets bytes that exist."""

import logging
from collections.abc import Awaitable, Callable

from aiohttp import http_exceptions, web

from numa_exporter.agent.loop import Loop
from numa_exporter.agent.negotiate import takes_gzip, wants_open_metrics
from numa_exporter.agent.publish import Body, Published, Shown
from numa_exporter.agent.web_config import Access, WebConfig

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

LOOP = web.AppKey("loop", Loop)


def application(loop: Loop, access: Access | None) -> web.Application:
    """The routes of contract §5; GET and HEAD only. ``access`` guards all but the probes."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if access is not None and not request.path.startswith("/-/"):
            permitted = await access.permits(request.headers.get("Authorization"))
            if not permitted:
                raise web.HTTPUnauthorized(headers={"WWW-Authenticate": 'Basic realm="numa_exporter"'})
        return await handler(request)

    app = web.Application(middlewares=[guard])
    app[LOOP] = loop
    app.router.add_get("/metrics", metrics)
    app.router.add_get("/", picture)
    app.router.add_get("/api/v1/report", report)
    app.router.add_get("/-/healthy", healthy)
    app.router.add_get("/-/ready", ready)
    return app


async def metrics(request: web.Request) -> web.Response:
    published = _published(request)
    if not wants_open_metrics(_header(request, "Accept")):
        return _answer(request, published.text)
    request.app[LOOP].open_metrics_asked()
    return _answer(request, published.open_metrics or published.text)


async def report(request: web.Request) -> web.Response:
    shown = await _shown(request)
    return _answer(request, shown.json)


async def picture(request: web.Request) -> web.Response:
    shown = await _shown(request)
    if shown.page is None:
        raise web.HTTPNotFound(text="the page is switched off (--no-web.page); metrics are at /metrics\n")
    response = _answer(request, shown.page)
    response.headers["Content-Security-Policy"] = shown.csp
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


async def healthy(request: web.Request) -> web.Response:
    """The loop turned lately. A stuck NVML must not restart the pod, so sources play no part."""
    if request.app[LOOP].healthy:
        return web.Response(text="healthy\n")
    return web.Response(status=503, text="the loop has not turned for 3 intervals\n")


async def ready(request: web.Request) -> web.Response:
    if request.app[LOOP].published is not None:
        return web.Response(text="ready\n")
    return web.Response(status=503, text="no report yet\n")


def _published(request: web.Request) -> Published:
    published = request.app[LOOP].published
    if published is None:
        raise _not_yet()
    return published


async def _shown(request: web.Request) -> Shown:
    shown = await request.app[LOOP].shown()
    if shown is None:
        raise _not_yet()
    return shown


def _not_yet() -> web.HTTPServiceUnavailable:
    return web.HTTPServiceUnavailable(text="no report yet\n", headers={"Retry-After": "5"})


def _answer(request: web.Request, body: Body) -> web.Response:
    headers = {"Content-Type": body.content_type, "Vary": "Accept, Accept-Encoding", "Cache-Control": "no-store"}
    if takes_gzip(_header(request, "Accept-Encoding")):
        headers["Content-Encoding"] = "gzip"
        return web.Response(body=body.gzipped, headers=headers)
    return web.Response(body=body.plain, headers=headers)


def _header(request: web.Request, name: str) -> str:
    """A list that came in several lines is one list."""
    return ",".join(request.headers.getall(name, ()))


def _ours(record: logging.LogRecord) -> bool:
    """Whether a line is about us. aiohttp logs each request that is no HTTP as an error with a trace: whoever reaches
    the port could fill the log. The peer's own 400 is enough."""
    return not (record.exc_info and isinstance(record.exc_info[1], http_exceptions.HttpProcessingError))


async def start(loop: Loop, host: str | None, port: int, config: WebConfig) -> tuple[web.AppRunner, int]:
    """Listen. Returns the runner and the port really bound (for port 0). OSError where the port is taken,
    UnicodeError where the host is no name."""
    runner = web.AppRunner(application(loop, config.access), access_log=None, shutdown_timeout=1.0)
    logging.getLogger("aiohttp.server").addFilter(_ours)
    await runner.setup()
    site = web.TCPSite(runner, host, port, ssl_context=config.tls.context if config.tls else None, reuse_address=True)
    try:
        await site.start()
    except (OSError, UnicodeError):
        await runner.cleanup()
        raise
    bound: int = runner.addresses[0][1]
    return runner, bound
