"""The bundle says of itself whether it is whole, and gives back what was recorded."""

import gzip
import hashlib
import io
import json
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.bundle.archive import pack, unpack
from numa_exporter.bundle.members import BundleError, member_of
from numa_exporter.model.recording import Answer, Frame, Question, Recording, Refusal

FRAME = Frame(
    taken_at=1.0,
    monotonic=2.0,
    answers={
        ("file", "/proc/42/stat"): b"42 (a\nb) S",
        ("file", "/proc/42/numa_maps"): b"7f00 default file=/\xff\xfe\n",
        ("file", "/sys/devices/system/node/online"): b"0-1\n",
        ("list", "/proc/42/task"): ["42", "43"],
        ("nvml", '["DeviceGetCount"]'): 8,
        ("device", "/proc/42/fd/3"): None,
        ("list", "/sys/fs/cgroup/\udcff"): ["\udcfe.scope"],
        ("file", "/proc/43/numa_maps"): Refusal(word="denied", detail="Permission denied"),
    },
)


def recording(*frames: Frame) -> Recording:
    return Recording(
        nodename="lab", simulated=False, exporter="0.1.0", frames=frames, settings={"threshold.memory": 0.2}
    )


def test_unpack_gives_back_what_was_packed() -> None:
    whole = recording(FRAME, FRAME)
    assert unpack(pack(whole, {"schema": "x"}), "b.tar.gz") == whole


def test_the_same_recording_gives_the_same_bytes() -> None:
    assert pack(recording(FRAME), {}) == pack(recording(FRAME), {})


_KEY = st.text(st.characters(codec="utf-8"), max_size=40).map(lambda text: "/" + text)
_ANSWER = st.one_of(
    st.binary(max_size=200),
    st.builds(Refusal, word=st.sampled_from(["absent", "denied", "gone"]), detail=st.text(max_size=20)),
    st.none(),
    st.integers(-(2**63), 2**63),
    st.lists(st.text(max_size=10), max_size=4),
)


@given(st.dictionaries(st.tuples(st.sampled_from(["file", "list", "nvml", "clock"]), _KEY), _ANSWER, min_size=1))
def test_any_answer_survives_the_archive(answers: dict[Question, Answer]) -> None:
    whole = recording(Frame(taken_at=0.0, monotonic=0.0, answers=answers))
    assert unpack(pack(whole, {}), "b") == whole


def test_one_member_for_a_process_and_its_threads_and_one_for_a_sysfs_area() -> None:
    assert member_of(("file", "/proc/42/task/99/stat")) == member_of(("affinity", "/proc/42/affinity"))
    assert member_of(("file", "/sys/devices/system/node/online")) == member_of(("list", "/sys/devices/system/cpu"))


def rewrite(data: bytes, change: dict[str, bytes | None]) -> bytes:
    """The archive with members replaced, added or (None) removed."""
    members: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for entry in tar:
            file = tar.extractfile(entry)
            assert file is not None
            members[entry.name] = file.read()
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name, content in {**members, **change}.items():
            if content is not None:
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(raw.getvalue())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"frames/0/proc/42.jsonl": b"{}\n"}, "frames/0/proc/42.jsonl: its SHA-256"),
        ({"frames/0/proc/42.jsonl": None}, "listed in the manifest but missing"),
        ({"../../etc/passwd": b"x"}, "../../etc/passwd: not listed"),
        ({"manifest.json": None}, "manifest.json: missing"),
        ({"manifest.json": b"[]"}, "manifest.json: missing or not"),
        ({"manifest.json": json.dumps({"schema": "other/9"}).encode()}, "manifest.json: missing or not"),
    ],
)
def test_a_changed_bundle_is_refused_with_file_and_member(change: dict[str, bytes | None], said: str) -> None:
    with pytest.raises(BundleError, match=r"^b\.tar\.gz") as refused:
        unpack(rewrite(pack(recording(FRAME), {}), change), "b.tar.gz")
    assert said in str(refused.value)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(["nodename", "simulated", "exporter", "settings", "frames", "sha256", "schema"]), _JSON)
def test_a_manifest_that_somebody_made_up_is_refused_or_harmless(key: str, value: object) -> None:
    data = pack(recording(FRAME), {})
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        member = tar.extractfile("manifest.json")
        assert member is not None
        manifest = json.loads(member.read())
    changed = rewrite(data, {"manifest.json": json.dumps({**manifest, key: value}).encode()})
    try:
        unpack(changed, "b.tar.gz")
    except BundleError as refused:
        assert str(refused).startswith("b.tar.gz: ") and "\n" not in str(refused)


@pytest.mark.parametrize("line", [b"[]", b"3", b"{", b"null", b'{"door": "file", "key": "/x", "base64": "?"}'])
def test_a_line_that_is_no_answer_is_named(line: bytes) -> None:
    name = "frames/0/proc/42.jsonl"
    data = pack(recording(FRAME), {})
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        member = tar.extractfile("manifest.json")
        assert member is not None
        manifest = json.loads(member.read())
    manifest["sha256"][name] = hashlib.sha256(line).hexdigest()
    changed = rewrite(data, {"manifest.json": json.dumps(manifest).encode(), name: line})
    with pytest.raises(BundleError, match=rf"^b\.tar\.gz: {name}:1: not an answer") as refused:
        unpack(changed, "b.tar.gz")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "data",
    [b"", b"no archive", gzip.compress(b"no tar", mtime=0), pack(recording(FRAME), {})[:300]],
    ids=["empty", "no archive", "no tar", "cut short"],
)
def test_what_is_no_archive_is_refused_in_one_line(data: bytes) -> None:
    with pytest.raises(BundleError) as refused:
        unpack(data, "b.tar.gz")
    assert str(refused.value).startswith("b.tar.gz: ")
    assert "\n" not in str(refused.value)


def _linked() -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        entry = tarfile.TarInfo("self")
        entry.type, entry.linkname = tarfile.SYMTYPE, "self"
        tar.addfile(entry)
    return raw.getvalue()


def test_a_link_is_no_member() -> None:
    with pytest.raises(BundleError, match="'self': not a regular file"):
        unpack(_linked(), "b")


@pytest.mark.parametrize("at", range(10, 200, 7))
def test_a_damaged_byte_is_a_bundle_error_or_harmless(at: int) -> None:
    data = bytearray(pack(recording(FRAME, FRAME), {"noise": hashlib.sha512(b"x").hexdigest()}))
    for value in (0x00, 0x5A, 0xFF):
        data[at] = value
        try:
            assert unpack(bytes(data), "b") == recording(FRAME, FRAME)
        except BundleError as error:
            assert str(error).startswith("b: ")


@pytest.mark.parametrize("moment", [float("nan"), float("inf"), 10**400])
def test_a_frame_without_a_time_is_refused(moment: float) -> None:
    with pytest.raises(BundleError, match=r"manifest\.json"):
        unpack(pack(recording(Frame(taken_at=moment, monotonic=1.0, answers={})), {}), "b")
