"""Flags that several verbs share, in Prometheus spelling, and what they make: settings, sources, a host."""

import argparse
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from numa_exporter.bundle.archive import SIZE_LIMIT, unpack
from numa_exporter.bundle.members import BundleError
from numa_exporter.cli.errors import UsageError
from numa_exporter.cli.intents import IntentError
from numa_exporter.cli.intents import load as load_intents
from numa_exporter.findings.intents import Intent
from numa_exporter.model.recording import Json
from numa_exporter.model.thresholds import GIB, KUBELET_ROOT, MIB, Settings, Thresholds, limits
from numa_exporter.sources.grpc_socket import CRI, POD_RESOURCES, GrpcSocket
from numa_exporter.sources.host import Host
from numa_exporter.sources.live import ForeignTree, LiveHost
from numa_exporter.sources.nvml import Nvml
from numa_exporter.sources.replay import ReplayHost
from numa_exporter.sources.roots import Roots
from numa_exporter.sources.source import Source
from numa_exporter.sources.table import SOURCES

_UNITS = {"": 1, "KiB": 1 << 10, "MiB": MIB, "GiB": GIB, "TiB": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(KiB|MiB|GiB|TiB|)")


def size(text: str) -> float:
    """A number with an optional binary unit, as in 1536MiB."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"expected a number, with KiB, MiB, GiB or TiB if you like, found {text!r}")
    value = float(match[1]) * _UNITS[match[2]]
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"too large: {text!r}")
    return value


_A_MILLISECOND, _A_YEAR = 0.001, 366 * 86400.0
"""Less could not be kept, and more cannot be waited for: sleep() has its own end."""


def seconds(text: str) -> float:
    """A duration: 15, 15s, 500ms, 2m, 1h."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|)", text.strip())
    value = float(match[1]) * {"ms": 0.001, "": 1, "s": 1, "m": 60, "h": 3600}[match[2]] if match else 0.0
    if value <= 0:
        raise argparse.ArgumentTypeError(f"expected a positive duration such as 15s or 2m, found {text!r}")
    if not _A_MILLISECOND <= value <= _A_YEAR:
        raise argparse.ArgumentTypeError(f"expected a duration from 1ms to a year, found {text!r}")
    return value


def share(text: str) -> float:
    """A positive share of one CPU: 0.05 is 5 %."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a positive number such as 0.05, found {text!r}")
    return value


def fraction(text: str) -> float:
    """A share from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"expected a share from 0 to 1 (0.2 is 20 %), found {text!r}")
    return value


def count(text: str) -> int:
    """A positive whole number."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive whole number, found {text!r}")
    return int(text)


def folder(text: str) -> str:
    """An absolute path, without a slash at its end."""
    if not text.startswith("/") or not text.rstrip("/"):
        raise argparse.ArgumentTypeError(f"expected an absolute path below the root, found {text!r}")
    return text.rstrip("/")


def add_host(parser: argparse.ArgumentParser) -> None:
    """--path.* and --replay: which machine is looked at."""
    group = parser.add_argument_group("host")
    group.add_argument("--path.rootfs", dest="rootfs", default="/", metavar="DIR", help="root of the host's files")
    group.add_argument("--path.procfs", dest="procfs", metavar="DIR", help="the host's /proc (default: ROOTFS/proc)")
    group.add_argument("--path.sysfs", dest="sysfs", metavar="DIR", help="the host's /sys (default: ROOTFS/sys)")
    group.add_argument(
        "--kubelet.root",
        dest="kubelet_root",
        type=folder,
        metavar="DIR",
        help=f"the kubelet's folder on the host, below ROOTFS (default: {KUBELET_ROOT})",
    )
    group.add_argument(
        "--kubelet.socket",
        dest="kubelet_socket",
        metavar="PATH",
        help="the kubelet's PodResources socket (default: pod-resources/kubelet.sock in the kubelet's folder)",
    )
    group.add_argument(
        "--kubelet.cri-socket",
        dest="cri_socket",
        metavar="PATH",
        help="the runtime's CRI socket, asked for names that no file tells (default: never asked; who may ask it may "
        "start containers)",
    )
    group.add_argument("--replay", metavar="BUNDLE", help="look at an evidence bundle instead of this host")


def add_judging(parser: argparse.ArgumentParser) -> None:
    """--source.*, --threshold.* and what else a report depends on."""
    group = parser.add_argument_group("sources")
    for source in SOURCES:
        group.add_argument(
            f"--source.{source.name}",
            dest=f"source_{source.name}",
            action=argparse.BooleanOptionalAction,
            default=True,
            help=f"read {source.reads}",
        )
    group.add_argument(
        "--memory.method",
        dest="memory_method",
        choices=("auto", "walk", "sample"),
        help="how pages are read (default: auto)",
    )
    group.add_argument(
        "--gpu.min-holding",
        dest="gpu_min_holding",
        type=size,
        metavar="SIZE",
        help="a further GPU of a process is main from this size on (default: 1536MiB)",
    )
    group.add_argument(
        "--workload.exclude",
        dest="excluded",
        action="append",
        metavar="REGEX",
        help="leave out workloads whose name matches (repeatable)",
    )
    group.add_argument(
        "--intent.file",
        dest="intent_file",
        metavar="FILE",
        help="deliberate exceptions: what is meant to be so, and why",
    )
    group = parser.add_argument_group("limits of verdicts")
    for limit in limits(Thresholds()):
        group.add_argument(
            f"--threshold.{limit.name.replace('_', '-')}",
            dest=f"threshold_{limit.name}",
            type=fraction if limit.share else size,
            metavar="SHARE" if limit.share else "N",
            help=f"{limit.why.replace('%', '%%')} (default: {limit.default:.10g})",
        )


Step = Callable[[], object]
"""What happens between two looks: a replay advances, a recorder begins a frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A host, the step to its next look, and the settings that its bundle was recorded with."""

    host: Host
    step: Step | None
    recorded: Mapping[str, Json]
    nvml: Nvml | None = None
    frames: int | None = None


def open_host(args: argparse.Namespace) -> Opened:
    """The host that the flags name. UsageError where a root or bundle cannot be read."""
    if args.replay is not None:
        try:
            with open(args.replay, "rb") as file:
                recording = unpack(file.read(SIZE_LIMIT), args.replay)  # /dev/zero has no end
        except OSError as error:
            raise UsageError(f"--replay: {args.replay}: {error.strerror}") from error
        except BundleError as error:
            raise UsageError(f"--replay: {error}") from error
        host = ReplayHost(recording)
        return Opened(host=host, step=host.advance, recorded=recording.settings, frames=len(recording.frames))
    roots = _roots(args)
    if roots.foreign():
        if roots.sysfs is not None and roots.procfs is None and roots.rootfs == "/":
            # Only a captured /sys was given: its /proc lies beside it, if anywhere; ours is not to be mixed in.
            roots = replace(roots, procfs=os.path.join(os.path.dirname(roots.sysfs), "proc"))
        return Opened(host=ForeignTree(roots), step=None, recorded={})
    nvml = Nvml(driver_roots=_driver_roots(args.rootfs))
    default = roots.below(f"{args.kubelet_root or KUBELET_ROOT}/pod-resources/kubelet.sock")
    kubelet = GrpcSocket(_socket(roots, args.kubelet_socket or default), POD_RESOURCES, "kubelet")
    runtime = GrpcSocket(_socket(roots, args.cri_socket), CRI, "cri") if args.cri_socket else None
    return Opened(host=LiveHost(roots, nvml, kubelet, runtime), step=None, recorded={}, nvml=nvml)


def _socket(roots: Roots, path: str) -> str:
    """Below the host's root a folder of the path may be a link to another disk of the host's."""
    if roots.rootfs != "/" and path.startswith(f"{roots.rootfs}/"):
        try:
            return roots.entry(path.removeprefix(roots.rootfs))
        except OSError:
            return path  # no such folder
    return path


def _roots(args: argparse.Namespace) -> Roots:
    for flag in ("rootfs", "procfs", "sysfs"):
        path = getattr(args, flag)
        if path is not None:
            try:
                os.listdir(path)
            except OSError as error:
                raise UsageError(f"--path.{flag}: {path}: {error.strerror}") from error
    return Roots(
        rootfs=os.path.abspath(args.rootfs),
        procfs=os.path.abspath(args.procfs) if args.procfs else None,
        sysfs=os.path.abspath(args.sysfs) if args.sysfs else None,
    )


def _driver_roots(rootfs: str) -> tuple[str, ...]:
    # The GPU Operator's driver container keeps libnvidia-ml below its own root; a plain pod has none at all.
    of_host = tuple(rootfs.rstrip("/") + root for root in ("", "/run/nvidia/driver", "/home/kubernetes/bin/nvidia"))
    return (*of_host, "/driver-root")  # where the chart mounts nvml.driverRoot


def settings(args: argparse.Namespace, recorded: Mapping[str, Json], *, every_look: bool = False) -> Settings:
    """Flags over what a bundle was recorded with over defaults. ``every_look`` for the few looks of a report."""
    chosen = {
        limit.name: value
        for limit in limits(Thresholds())
        if (value := _first(getattr(args, f"threshold_{limit.name}"), recorded.get(f"threshold.{limit.name}")))
        is not None
    }
    for pattern in args.excluded or ():
        try:
            re.compile(pattern)
        except re.error as error:
            raise UsageError(f"--workload.exclude: {pattern}: {error}") from error
    made = Settings(
        thresholds=replace(Thresholds(), **chosen),
        excluded_workloads=tuple(args.excluded or ()),
        every_look=every_look,
        kubelet_root=str(args.kubelet_root or recorded.get("kubelet.root", KUBELET_ROOT)),
        cri_socket=_text(args.cri_socket or recorded.get("kubelet.cri-socket")),
    )
    holding = _first(args.gpu_min_holding, recorded.get("gpu.min-holding"))
    if holding is not None:
        made = replace(made, gpu_min_holding_bytes=int(holding))
    method = args.memory_method or recorded.get("memory.method")
    return replace(made, memory_method=str(method)) if method else made


def intents(args: argparse.Namespace) -> tuple[Intent, ...]:
    """The deliberate exceptions of --intent.file."""
    if args.intent_file is None:
        return ()
    try:
        return load_intents(args.intent_file)
    except OSError as error:
        raise UsageError(f"--intent.file: {args.intent_file}: {error.strerror}") from error
    except IntentError as error:
        raise UsageError(f"--intent.file: {error}") from error


def _first(*values: object) -> float | None:
    return next((float(value) for value in values if isinstance(value, int | float)), None)


def _text(value: object) -> str | None:
    return str(value) if value else None


def recorded_settings(made: Settings) -> dict[str, Json]:
    """What a bundle keeps of the settings, by flag name."""
    told: dict[str, Json] = {f"threshold.{limit.name}": limit.value for limit in limits(made.thresholds)}
    told |= {"gpu.min-holding": made.gpu_min_holding_bytes, "memory.method": made.memory_method}
    told |= {"kubelet.root": made.kubelet_root}
    return told | ({"kubelet.cri-socket": made.cri_socket} if made.cri_socket else {})


def sources(args: argparse.Namespace) -> tuple[Source, ...]:
    """The rows of the table that the flags leave on."""
    off = frozenset(source.name for source in SOURCES if not getattr(args, f"source_{source.name}"))
    return tuple(
        replace(source, needs=tuple(need for need in source.needs if need not in off))
        for source in SOURCES
        if source.name not in off
    )
