"""The bundle says of itself whether it is whole, and gives back what was recorded."""

import gzip
import hashlib
import io
import json
import os
import tarfile
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.bundle.archive import pack, unpack
from numa_exporter.bundle.members import BundleError, member_of
from numa_exporter.model.recording import Answer, Frame, Json, Question, Recording, Refusal
from numa_exporter.sources.replay import ReplayHost

MEMBER = "frames/0/proc/42.jsonl"
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
_TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
_REFUSAL = st.builds(Refusal, word=st.sampled_from(["absent", "denied", "gone", "stuck", "garbled"]), detail=_TEXT)
_COUNT = st.integers(0, 2**64 - 1)
_ANSWERS: dict[str, st.SearchStrategy[Answer]] = {
    "file": st.binary(max_size=200),
    "kubelet": st.binary(max_size=200),
    "list": st.lists(
        st.binary(min_size=1, max_size=10).map(os.fsdecode).filter(lambda name: "/" not in name), max_size=4
    ),
    "device": st.none() | st.lists(_COUNT, min_size=2, max_size=2),
    "nvml": st.recursive(
        st.none() | st.booleans() | _COUNT | _TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
        max_leaves=6,
    ),
    "cri": st.dictionaries(_TEXT, _TEXT, max_size=3),
    "environ": st.none() | _TEXT,
    "clock": st.tuples(st.floats(0, 1e11), st.floats(allow_nan=False, allow_infinity=False)).map(list),
    "pages": st.lists(st.integers(-4095, 2**31), max_size=4),
    "started": _COUNT,
    "of a newer exporter": st.integers() | st.text(max_size=5),
}
_ASKED = st.sampled_from(sorted(_ANSWERS)).flatmap(
    lambda door: st.tuples(st.tuples(st.just(door), _KEY), _ANSWERS[door] | _REFUSAL)
)


@given(st.lists(_ASKED, min_size=1, unique_by=lambda asked: asked[0]).map(dict))
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


def with_line(line: bytes) -> bytes:
    """The bundle with one member of that one line, as the manifest says too."""
    data = pack(recording(FRAME), {})
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        member = tar.extractfile("manifest.json")
        assert member is not None
        manifest = json.loads(member.read())
    manifest["sha256"][MEMBER] = hashlib.sha256(line).hexdigest()
    return rewrite(data, {"manifest.json": json.dumps(manifest).encode(), MEMBER: line})


@pytest.mark.parametrize("line", [b"[]", b"3", b"{", b"null", b'{"door": "file", "key": "/x", "base64": "?"}'])
def test_a_line_that_is_no_answer_is_named(line: bytes) -> None:
    with pytest.raises(BundleError, match=rf"^b\.tar\.gz: {MEMBER}:1: not an answer") as refused:
        unpack(with_line(line), "b.tar.gz")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("door", "key", "answer"),
    [
        ("file", "/proc/1/stat", ["1"]),
        ("list", "/proc", "1 2"),
        ("list", "/proc", [1]),
        ("list", "/proc", ["9" * 5000]),
        ("list", "/proc", ["../../etc"]),
        ("list", "/proc", ["\ud800"]),
        ("list", "/proc/1/fd", ["x"]),
        ("list", "/proc/1/task", ["1", "9" * 5000]),
        ("link", "/proc/1/exe", 7),
        ("device", "/proc/1/fd/3", [195]),
        ("device", "/proc/1/fd/3", [195, True]),
        ("device", "hugetlbfs", [7]),
        ("affinity", "/proc/1/affinity", "not hexadecimal"),
        ("affinity", "/proc/1/affinity", 3),
        ("pages", "/proc/1/move_pages 1", [0, "1"]),
        ("pagemap", "/proc/1/pagemap", []),
        ("pagemap", "/proc/1/pagemap 1 0-1 0", []),
        ("pagemap", "/proc/1/pagemap 1 0-1 0", [0.1, "4096"]),
        ("held", "/proc/1/maps x", "long"),
        ("nvml", '["DeviceGetName", 0]', "NVIDIA \udcff"),
        ("nvml", '["DeviceGetPciInfo", 0]', {"bus": -1}),
        ("nvml", '["DeviceGetMemoryAffinity", 0]', [1 << 64]),
        ("nvml", '["DeviceGetComputeRunningProcesses", 0]', [[1, 2]]),
        ("nvml", '["DeviceGetComputeRunningProcesses", 0]', {"1": 2}),
        ("cri", "a" * 64, {"io.kubernetes.pod.name": 1}),
        ("pick", "/x Name", {"Name": None}),
        ("environ", "/proc/1/environ SLURM_JOB_ID", 4711),
        ("clock", "gpus", ["now", 1.0]),
        ("clock", "gpus", [1.0]),
        ("clock", "gpus", [float("nan"), 1.0]),
        ("clock", "gpus", [1e300, 1.0]),
        ("clock", "gpus", [1.0, 10**400]),
        ("seed", "memory", 0.5),
        ("started", "/proc/1/stat x", -1),
    ],
)
def test_what_a_door_could_never_have_said_is_named(door: str, key: str, answer: object) -> None:
    line = json.dumps({"door": door, "key": key, "json": answer}).encode()
    with pytest.raises(BundleError, match=rf"^b\.tar\.gz: {MEMBER}:1: not an answer") as refused:
        unpack(with_line(line), "b.tar.gz")
    assert "\n" not in str(refused.value)


def test_a_refusal_is_heard_at_every_door() -> None:
    """Also at one that a live host never refuses."""
    line = b'{"door": "device", "key": "hugetlbfs", "refused": "denied", "detail": ""}'
    assert ReplayHost(unpack(with_line(line), "b")).hugetlbfs_devices() == ()


def test_a_refusal_has_one_of_the_five_words() -> None:
    line = b'{"door": "file", "key": "/x", "refused": "broken", "detail": ""}'
    with pytest.raises(BundleError, match=r"absent, denied, gone, stuck, garbled"):
        unpack(with_line(line), "b")


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


@pytest.mark.parametrize("moment", [float("nan"), float("inf"), 10**400, 1e300, -1.0])
def test_a_frame_without_a_time_is_refused(moment: float) -> None:
    with pytest.raises(BundleError, match=r"manifest\.json"):
        unpack(pack(recording(Frame(taken_at=moment, monotonic=1.0, answers={})), {}), "b")


@pytest.mark.parametrize("value", [float("nan"), [1], {}, "\udcff"])
def test_a_setting_that_is_none_is_refused(value: Json) -> None:
    told = replace(recording(FRAME), settings={"gpu.min-holding": value})
    with pytest.raises(BundleError, match=r"manifest\.json.*gpu\.min-holding"):
        unpack(pack(told, {}), "b")
