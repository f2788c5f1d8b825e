"""snapshot: the evidence bundle. Everything that a report rests on, in one file that every verb can --replay."""

import argparse
import os
import sys
from dataclasses import replace

from numa_exporter import __version__
from numa_exporter.bundle.archive import pack
from numa_exporter.cli import flags
from numa_exporter.cli.errors import EXIT_OK, UsageError
from numa_exporter.cli.report import add_window, take
from numa_exporter.model.document import document
from numa_exporter.model.recording import Recording
from numa_exporter.sources.replay import RecordingHost

PRIVACY = (
    "The bundle holds process names, cgroup paths, mapped file names and device ids of this machine: look before you "
    "share it."
)


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("snapshot", help="write an evidence bundle", allow_abbrev=False)
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="where to write it; - is standard output")
    add_window(parser)
    flags.add_host(parser)
    flags.add_judging(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    args.looks = max(2, args.looks)  # rates and counters need two frames
    to_standard_output = args.output == "-"
    if to_standard_output:
        _check_standard_output()
    else:
        _check_file(args.output)
    opened = flags.open_host(args)
    recorder = RecordingHost(opened.host)
    report = take(args, replace(opened, host=recorder, step=_both(recorder, opened)))
    recording = Recording(
        nodename=opened.host.nodename,
        simulated=opened.host.mode == "simulated",
        exporter=__version__,
        frames=tuple(recorder.frames()),
        settings=flags.recorded_settings(report.settings),
    )
    data = pack(recording, document(report))
    if to_standard_output:
        sys.stdout.buffer.write(data)
    else:
        write(args.output, data)
    told = sys.stderr if to_standard_output else sys.stdout
    print(f"{args.output}: {len(recording.frames)} frames, {len(data)} bytes. {PRIVACY}", file=told)
    return EXIT_OK


def _check_file(path: str) -> None:
    folder = os.path.dirname(os.path.realpath(path))
    try:
        os.stat(folder)
    except OSError as error:
        raise UsageError(f"--output: {folder}: {error.strerror}") from error
    if not os.access(folder, os.W_OK):
        raise UsageError(f"--output: {folder}: cannot be written; -o - writes to standard output")
    if os.path.exists(path) and not os.path.isfile(path):
        raise UsageError(f"--output: {path}: not a regular file, and would be replaced by one")


def _check_standard_output() -> None:
    # A pod's root is read-only: this way out needs no file there (kubectl exec … -- snapshot -o - > FILE).
    if sys.stdout.isatty():
        raise UsageError("--output: -: standard output is a terminal; redirect it into a file")


def _both(recorder: RecordingHost, opened: flags.Opened) -> "flags.Step":
    def step() -> None:
        recorder.begin()
        if opened.step is not None:
            opened.step()

    return step


def write(path: str, data: bytes) -> None:
    """Whole or not at all: a bundle cut short by a full disk must not look like one, and leaves nothing behind. A link
    keeps pointing where it does; what lies beside it under the name of the part is never written through."""
    target = os.path.realpath(path)
    part = f"{target}.{os.getpid()}.part"
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            os.replace(part, target)
        except BaseException:
            os.unlink(part)
            raise
    except OSError as error:
        raise UsageError(f"--output: {path}: {error.strerror}") from error
