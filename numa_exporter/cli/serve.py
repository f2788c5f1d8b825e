"""serve: the agent."""

import argparse
import asyncio
import logging
import os
import re
import signal
from dataclasses import replace
from errno import EADDRINUSE

from numa_exporter import __version__
from numa_exporter.agent import logs, web
from numa_exporter.agent.governor import Governor
from numa_exporter.agent.loop import Loop
from numa_exporter.agent.pipeline import Pipeline
from numa_exporter.agent.web_config import WebConfig, WebConfigError, load
from numa_exporter.cli import flags, interpreter
from numa_exporter.cli.errors import EXIT_OK, UsageError
from numa_exporter.cli.summary import one_line, whole
from numa_exporter.sources.nvml import Nvml
from numa_exporter.sources.table import TICK_SECONDS

log = logging.getLogger("numa_exporter")


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("serve", help="the agent: read this host and serve metrics", allow_abbrev=False)
    add_agent(parser)
    flags.add_host(parser)
    flags.add_judging(parser)
    parser.set_defaults(run=run)


def add_agent(parser: argparse.ArgumentParser) -> None:
    """--web.*, --interval, --log.* and what else an agent needs that serves."""
    group = parser.add_argument_group("web")
    group.add_argument(
        "--web.listen-address",
        dest="listen",
        default=":10062",
        metavar="[HOST]:PORT",
        help="where to listen (default: %(default)s)",
    )
    group.add_argument(
        "--web.config.file",
        dest="web_config",
        metavar="FILE",
        help="TLS and basic auth in exporter-toolkit's format: tls_server_config (cert_file, key_file, min_version), "
        "basic_auth_users",
    )
    group.add_argument(
        "--web.page",
        dest="page",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="the picture at /",
    )
    group = parser.add_argument_group("agent")
    group.add_argument(
        "--interval",
        type=flags.seconds,
        default=TICK_SECONDS,
        metavar="DURATION",
        help="between ticks; sources that are read in each second tick are so at any interval (default: 15s)",
    )
    group.add_argument(
        "--cpu-budget",
        type=flags.share,
        default=0.05,
        metavar="SHARE",
        help="of one CPU; over it costly sources slow down (default: 0.05)",
    )
    group.add_argument(
        "--max-series", type=flags.count, metavar="N", help="leave out series past this many, and count them"
    )
    group.add_argument(
        "--log.level", dest="log_level", choices=logs.LEVELS, default="info", help="least level (default: info)"
    )
    group.add_argument(
        "--log.format", dest="log_format", choices=logs.FORMATS, default="logfmt", help="of lines (default: logfmt)"
    )


def run(args: argparse.Namespace) -> int:
    logs.start(args.log_level, args.log_format)
    opened = flags.open_host(args)
    listen(args, agent(args, pipeline(args, opened)), opened.nvml)
    return EXIT_OK


def pipeline(args: argparse.Namespace, opened: flags.Opened) -> Pipeline:
    """Sources, join and judge over a host, as the flags want them."""
    sources = [
        replace(source, interval=source.interval * args.interval / TICK_SECONDS) for source in flags.sources(args)
    ]
    return Pipeline(opened.host, sources, flags.settings(args, opened.recorded), opened.step, flags.intents(args))


def agent(args: argparse.Namespace, read: Pipeline) -> Loop:
    """The loop over a pipeline."""
    return Loop(read, Governor(args.cpu_budget), interval=args.interval, page=args.page, max_series=args.max_series)


def listen(args: argparse.Namespace, loop: Loop, nvml: Nvml | None = None) -> None:
    """Tick and answer until somebody says stop."""
    interpreter.settle()
    host, port = address(args.listen)
    asyncio.run(_serve(loop, host, port, _web_config(args.web_config), nvml))


def address(text: str) -> tuple[str | None, int]:
    """[HOST]:PORT; an IPv6 address in brackets. No host = all addresses."""
    match = re.fullmatch(r"(\[[^\[\]\s]+\]|[^\[\]:\s]*):([0-9]{1,5})", text)
    if match is None or int(match[2]) > 65535:
        raise UsageError(f"--web.listen-address: expected [HOST]:PORT, found {text!r}")
    return match[1].strip("[]") or None, int(match[2])


def _web_config(path: str | None) -> WebConfig:
    if path is None:
        return WebConfig()
    try:
        return load(path)
    except OSError as error:
        raise UsageError(f"--web.config.file: {path}: {error.strerror}") from error
    except WebConfigError as error:
        raise UsageError(f"--web.config.file: {error}") from error


async def _serve(loop: Loop, host: str | None, port: int, config: WebConfig, nvml: Nvml | None) -> None:
    stop = asyncio.Event()
    running = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        running.add_signal_handler(number, stop.set)
    running.add_signal_handler(signal.SIGUSR1, _release, nvml)
    try:
        runner, bound = await web.start(loop, host, port, config)
    except UnicodeError as error:  # idna: an empty or endless label
        raise UsageError(f"--web.listen-address: {host}:{port}: not the name of a host") from error
    except OSError as error:
        where = f"{host or ''}:{port}"
        # asyncio puts its own words around the kernel's, and a name that is not found has a number of its own.
        said = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        hint = (
            f"; choose another port: --web.listen-address={host or ''}:{port % 65535 + 1}"
            if error.errno == EADDRINUSE
            else ""
        )
        raise UsageError(f"--web.listen-address: {where}: {said}{hint}") from error
    scheme = "https" if config.tls else "http"
    url = f"{scheme}://{'localhost' if host in (None, '0.0.0.0', '::') else host}:{bound}"
    log.info("listening", extra={"address": url, "version": __version__, "pid": os.getpid()})
    ticking = asyncio.create_task(loop.run(stop))
    announcing = asyncio.create_task(_announce(loop, url))
    stopping = asyncio.create_task(stop.wait())
    following = [asyncio.create_task(config.tls.follow())] if config.tls else []
    try:
        await asyncio.wait({ticking, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if ticking.done():
            ticking.result()  # a defect in the loop itself ends the process, loudly
    finally:
        # A tick may be waiting for a reading that hangs; its thread is a daemon and ends with us.
        tasks = (ticking, announcing, stopping, *following)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await runner.cleanup()
        log.info("stopped")


async def _announce(loop: Loop, url: str) -> None:
    """Say once, on standard output, where to look when there is something, and what is seen when every source has
    answered."""
    while loop.published is None:
        await asyncio.sleep(0.05)
    print(f"numa_exporter {__version__} on {url}/  (metrics: {url}/metrics)", flush=True)
    while not whole(loop.published.report):
        await asyncio.sleep(0.05)
    print(one_line(loop.published.report), flush=True)


def _release(nvml: Nvml | None) -> None:
    if nvml is None:  # a replay or a simulated host: nothing to give up, and no reason to die of the signal
        log.info("no GPU handles are held")
        return
    nvml.release()
    log.info("GPU handles released")
