"""report: a few looks at the host, as a person reads it; or as JSON, or as metrics for the textfile collector."""

import argparse
import json
import sys
from dataclasses import replace

from numa_exporter import __version__
from numa_exporter.agent.look import Looker
from numa_exporter.agent.pipeline import Pipeline
from numa_exporter.cli import flags
from numa_exporter.cli.errors import EXIT_FOUND, EXIT_OK, EXIT_UNKNOWN, UsageError
from numa_exporter.cli.report_text import Style, render
from numa_exporter.metrics import TABLE, View
from numa_exporter.metrics.exposition import families, text
from numa_exporter.model.document import document
from numa_exporter.model.report import Report


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("report", help="look now: what is wrong here, and what to do", allow_abbrev=False)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="the report document (schema numa-exporter/report/1)")
    form.add_argument("--metrics", action="store_true", help="metrics, as for the textfile collector")
    parser.add_argument("--pid", type=flags.count, metavar="PID", help="only the workload that this process belongs to")
    parser.add_argument(
        "--fail-on", choices=("info", "warning"), default="warning", help="exit 1 from this level on (default: warning)"
    )
    add_window(parser)
    flags.add_host(parser)
    flags.add_judging(parser)
    parser.set_defaults(run=run)


def add_window(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--window", type=flags.seconds, default=10.0, metavar="DURATION", help="spread the looks over it (default: 10s)"
    )
    parser.add_argument("--looks", type=flags.count, default=3, metavar="N", help="how often to look (default: 3)")


def take(args: argparse.Namespace, opened: flags.Opened) -> Report:
    """Look as often as the flags say; of a bundle, at every frame."""
    if opened.frames is None and sys.stderr.isatty():
        print(f"Looking {args.looks} times in {args.window:g} s …", file=sys.stderr)
    settings = flags.settings(args, opened.recorded, every_look=True)
    pipeline = Pipeline(opened.host, flags.sources(args), settings, opened.step, flags.intents(args))
    return Looker(pipeline).looks(opened.frames or args.looks, args.window)[-1]


def run(args: argparse.Namespace) -> int:
    report = take(args, flags.open_host(args))
    if args.pid is not None:
        report = _only(report, args.pid)
    if args.json:
        json.dump(document(report), sys.stdout, indent=1, ensure_ascii=False)
        print()
    elif args.metrics:
        sys.stdout.write(text(families(TABLE, View(report=report, version=__version__))).decode())
    else:
        print(render(report, Style.of(sys.stdout)))
    return status(report, args.fail_on)


def status(report: Report, fail_on: str) -> int:
    """0 nothing of that level, 1 something, 2 could not tell."""
    levels = {"warning"} if fail_on == "warning" else {"warning", "info"}
    if any(finding.level in levels and finding.suppressed is None for finding in report.findings):
        return EXIT_FOUND
    return EXIT_UNKNOWN if _untold(report) else EXIT_OK


def _untold(report: Report) -> bool:
    """Whether something that could have been wrong was not seen: the machine, its GPUs, who holds them, a rank."""
    machine = report.placement.machine
    if machine is None or not machine.gpus_known:
        return True
    processes = report.health.get("processes")
    if machine.gpus and (processes is None or processes.up is not True):
        return True
    return any(verdict.not_judged for verdicts in report.verdicts.values() for verdict in verdicts.values())


def _only(report: Report, pid: int) -> Report:
    for workload in report.placement.workloads:
        ranks = (*workload.ranks, *((workload.helpers,) if workload.helpers else ()))
        if any(process.key.pid == pid for rank in ranks for process in rank.processes):
            placement = replace(report.placement, workloads=(workload,))
            kept = tuple(f for f in report.findings if f.subject.workload in (workload.key, None))
            verdicts = {key: value for key, value in report.verdicts.items() if key.workload == workload.key}
            return replace(report, placement=placement, findings=kept, verdicts=verdicts)
    raise UsageError(f"--pid: {pid}: belongs to no workload that holds a GPU here")
