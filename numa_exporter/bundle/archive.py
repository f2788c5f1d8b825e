"""The bundle file: a gzipped tar that holds frames, the report, and a manifest with the SHA-256 of every member.

    manifest.json        {"schema": ..., "nodename": ..., "frames": [...], "settings": {...}, "sha256": {member: hex}}
    report.json          the report that was made of it, as `report --json` prints it
    frames/0/proc/42.jsonl, frames/0/sys/devices-system.jsonl, frames/0/nvml.jsonl, ...

Nothing is ever unpacked: members are read into memory, up to a limit, and checked against the manifest first.
"""

import gzip
import hashlib
import io
import json
import tarfile
import zlib
from collections.abc import Mapping
from typing import Any

from numa_exporter.bundle import doors
from numa_exporter.bundle.members import BundleError, answer_of, line_of, member_of
from numa_exporter.model.recording import Answer, Frame, Json, Question, Recording

SCHEMA = "numa-exporter/bundle/1"
SIZE_LIMIT = 1 << 30
"""Bytes of all members together. A bundle of a full node is a few MiB; more is a decompression bomb."""


def pack(recording: Recording, report: Json) -> bytes:
    """The archive. The same recording gives the same bytes."""
    members: dict[str, bytes] = {"report.json": _json(report)}
    for number, frame in enumerate(recording.frames):
        lines: dict[str, list[str]] = {}
        for question in sorted(frame.answers):
            lines.setdefault(member_of(question), []).append(line_of(question, frame.answers[question]))
        for name, told in lines.items():
            members[f"frames/{number}/{name}"] = ("\n".join(told) + "\n").encode("utf-8")
    manifest: Json = {
        "schema": SCHEMA,
        "nodename": recording.nodename,
        "simulated": recording.simulated,
        "exporter": recording.exporter,
        "settings": recording.settings,
        "frames": [{"taken_at": frame.taken_at, "monotonic": frame.monotonic} for frame in recording.frames],
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in sorted(members.items())},
    }
    return _tar({"manifest.json": _json(manifest), **dict(sorted(members.items()))})


def _json(value: Json) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode("utf-8")


def _tar(members: Mapping[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            entry.mode = 0o644
            tar.addfile(entry, io.BytesIO(data))
    return gzip.compress(raw.getvalue(), mtime=0)


def unpack(data: bytes, path: str) -> Recording:
    """The recording in an archive. BundleError where it is not one, is damaged, or was changed."""
    members = _members(data, path)
    manifest = _manifest(members, path)
    frames = []
    for number, stamp in enumerate(manifest["frames"]):
        answers: dict[Question, Answer] = {}
        for name, content in members.items():
            if name.startswith(f"frames/{number}/"):
                answers |= _answers(content, path, name)
        frames.append(Frame(taken_at=float(stamp["taken_at"]), monotonic=float(stamp["monotonic"]), answers=answers))
    if not frames:
        raise BundleError(f"{path}: manifest.json: no frames")
    return Recording(
        nodename=str(manifest["nodename"]),
        simulated=bool(manifest["simulated"]),
        exporter=str(manifest["exporter"]),
        frames=tuple(frames),
        settings=manifest["settings"],
    )


def _members(data: bytes, path: str) -> dict[str, bytes]:
    members: dict[str, bytes] = {}
    size = 0
    try:
        # Whole, before any of it is believed: gzip's checksum stands at the end, and the manifest has no other.
        raw = gzip.GzipFile(fileobj=io.BytesIO(data)).read(SIZE_LIMIT + 1)
        if len(raw) > SIZE_LIMIT:
            raise BundleError(f"{path}: more than {SIZE_LIMIT} bytes when unpacked")
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as tar:
            for entry in tar:
                if not entry.isreg():  # a link would be read as often as it is listed
                    raise BundleError(f"{path}: {entry.name!r}: not a regular file, and a bundle holds nothing else")
                size += entry.size
                if size > SIZE_LIMIT:  # sparse files are small in the archive
                    raise BundleError(f"{path}: more than {SIZE_LIMIT} bytes when unpacked")
                file = tar.extractfile(entry)
                if file is not None:
                    members[entry.name] = file.read()
    except BundleError:
        raise
    except (tarfile.TarError, zlib.error, OSError, EOFError, ValueError) as error:
        raise BundleError(f"{path}: not a bundle (a gzipped tar): {error}") from error
    return members


def _manifest(members: Mapping[str, bytes], path: str) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads(members["manifest.json"])
        known = manifest["schema"]
        hashes = {str(name): str(told) for name, told in manifest["sha256"].items()}
        for stamp in manifest["frames"]:
            if not (doors.wall(stamp["taken_at"]) and doors.finite(stamp["monotonic"])):
                raise ValueError("a frame's time is none")
        if not all(doors.text(manifest[name]) for name in ("nodename", "exporter")):
            raise ValueError("nodename and exporter are text")
        for name, value in manifest["settings"].items():
            if not (value is None or doors.finite(value) or doors.text(value)):
                raise ValueError(f"the setting {name!r} is no number and no text")
        manifest["simulated"]
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        said = " ".join(str(error).split())
        raise BundleError(f"{path}: manifest.json: missing or not what a bundle's manifest is ({said})") from error
    if known != SCHEMA:
        raise BundleError(f"{path}: manifest.json: schema {known}, this exporter reads {SCHEMA}")
    for name, expected in hashes.items():
        if name not in members:
            raise BundleError(f"{path}: {name}: listed in the manifest but missing")
        if hashlib.sha256(members[name]).hexdigest() != expected:
            raise BundleError(f"{path}: {name}: its SHA-256 is not the manifest's: damaged or changed")
    extra = set(members) - set(hashes) - {"manifest.json"}
    if extra:
        raise BundleError(f"{path}: {min(extra)}: not listed in the manifest")
    return manifest


def _answers(content: bytes, path: str, name: str) -> dict[Question, Answer]:
    answers: dict[Question, Answer] = {}
    # Not splitlines(): file text may hold U+0085 or U+2028, which JSON leaves as they are.
    for number, line in enumerate(content.removesuffix(b"\n").split(b"\n"), 1):
        try:
            question, answer = answer_of(json.loads(line))
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            said = " ".join(str(error).split())
            raise BundleError(f"{path}: {name}:{number}: not an answer ({said})") from error
        answers[question] = answer
    return answers
