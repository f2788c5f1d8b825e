"""A recorded host, and the recorder that makes one. Bundle, fixture and simulated host open the same doors."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

from numa_exporter.formats import task_stat
from numa_exporter.model.health import FailureWord
from numa_exporter.model.recording import Answer, Frame, Json, Question, Recording, Refusal
from numa_exporter.model.sample import Mode
from numa_exporter.sources.host import Host, HostError, Instant, PageTables
from numa_exporter.sources.recorded_pages import RecordedTables, ReplayedTables, nodes_key, tables_path


class ReplayHost:
    """Answers from a Recording's frames, one frame at a time; ``advance`` steps to the next look.

    A question that was never asked when the bundle was made (an older exporter) is ``absent``, and says so.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._index = 0

    @property
    def mode(self) -> Mode:
        return "simulated" if self._recording.simulated else "replay"

    @property
    def nodename(self) -> str:
        return self._recording.nodename

    @property
    def frame(self) -> Frame:
        return self._recording.frames[self._index]

    def advance(self) -> bool:
        """Step to the next frame; False (and no step) at the last one."""
        if self._index + 1 >= len(self._recording.frames):
            return False
        self._index += 1
        return True

    def _answer(self, door: str, key: str) -> Answer:
        try:
            answer = self.frame.answers[door, key]
        except KeyError:
            raise HostError("absent", key, "not asked when this bundle was recorded") from None
        if isinstance(answer, Refusal):
            raise HostError(cast(FailureWord, answer.word), key, answer.detail)
        return answer

    def read(self, path: str, *, single: bool = False) -> bytes:
        return cast(bytes, self._answer("file", path))

    def stream(self, path: str, block: int) -> Iterator[bytes]:
        data = self.read(path)
        return (data[at : at + block] for at in range(0, len(data), block))

    def list(self, path: str) -> Sequence[str]:
        return cast(Sequence[str], self._answer("list", path))

    def readlink(self, path: str) -> str:
        return cast(str, self._answer("link", path))

    def realpath(self, path: str) -> str:
        return cast(str, self._answer("real", path))

    def device_number(self, path: str) -> tuple[int, int] | None:
        answer = cast("Sequence[int] | None", self._answer("device", path))
        return None if answer is None else (answer[0], answer[1])

    def affinity(self, tid: int) -> bytes:
        return bytes.fromhex(cast(str, self._answer("affinity", f"/proc/{tid}/affinity")))

    def page_nodes(self, pid: int, addresses: Sequence[int]) -> Sequence[int]:
        return cast(Sequence[int], self._answer("pages", nodes_key(pid, addresses)))

    @contextmanager
    def page_tables(self, pid: int) -> Iterator[PageTables]:
        self._answer("pagemap", tables_path(pid))  # raises the refusal to open it
        yield ReplayedTables(pid, self._answer)

    def hugetlbfs_devices(self) -> Sequence[tuple[int, int]]:
        try:
            answer = cast(Sequence[Sequence[int]], self._answer("device", "hugetlbfs"))
        except HostError:
            return ()
        return [(major, minor) for major, minor in answer]

    def longest_hold(self, pid: int, label: str) -> float:
        try:
            return cast(float, self._answer("held", _moment_key(f"/proc/{pid}/maps", label)))
        except HostError:
            return 0.0

    def nvml(self, function: str, *arguments: int | str) -> Json:
        return cast(Json, self._answer("nvml", _nvml_key(function, arguments)))

    def kubelet(self, method: str, request: bytes = b"") -> bytes:
        return cast(bytes, self._answer("kubelet", _kubelet_key(method, request)))

    def container_labels(self, container_id: str) -> Mapping[str, str]:
        return cast("Mapping[str, str]", self._answer("cri", container_id))

    def pick(self, path: str, *members: str) -> Mapping[str, str]:
        return cast("Mapping[str, str]", self._answer("pick", _pick_key(path, members)))

    def environment(self, pid: int, variable: str) -> str | None:
        return cast("str | None", self._answer("environ", f"/proc/{pid}/environ {variable}"))

    def now(self, label: str) -> Instant:
        try:
            wall, monotonic = cast(Sequence[float], self._answer("clock", label))
        except HostError:
            return Instant(wall=self.frame.taken_at, monotonic=self.frame.monotonic)
        return Instant(wall=wall, monotonic=monotonic)

    def seed(self, label: str) -> int:
        return cast(int, self._answer("seed", label))

    def started(self, pid: int, label: str) -> int:
        path = f"/proc/{pid}/stat"
        key = _moment_key(path, label)
        if ("started", key) in self.frame.answers:
            return cast(int, self._answer("started", key))
        return task_stat.parse(self.read(path), path).start_ticks

    def give_up(self, path: str, detail: str) -> HostError:
        return HostError("stuck", path, detail)

    def gave_up(self, path: str) -> HostError | None:
        answer = self.frame.answers.get(("file", path))
        if isinstance(answer, Refusal) and answer.word == "stuck":
            return HostError("stuck", path, answer.detail)
        return None


class RecordingHost:
    """Tees everything that goes through another host's doors into frames.

    ``begin`` starts a frame; ``frames`` are the finished ones and the current one. Sources run in threads of their
    own: dict assignment is atomic, and no two sources ask the same question for different purposes.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._done: list[Frame] = []
        self._answers: dict[Question, Answer] = {}
        self._began = host.now("frame")

    @property
    def mode(self) -> Mode:
        return self._host.mode

    @property
    def nodename(self) -> str:
        return self._host.nodename

    def begin(self) -> None:
        """Close the current frame and start the next; an empty frame is not kept."""
        self._done = self.frames()
        self._answers = {}
        self._began = self._host.now("frame")

    def frames(self) -> list[Frame]:
        if not self._answers:
            return list(self._done)
        current = Frame(taken_at=self._began.wall, monotonic=self._began.monotonic, answers=dict(self._answers))
        return [*self._done, current]

    def _refuse(self, door: str, key: str, error: HostError) -> HostError:
        self._answers[door, key] = Refusal(word=error.word, detail=error.detail)
        return error

    def read(self, path: str, *, single: bool = False) -> bytes:
        try:
            data = self._host.read(path, single=single)
        except HostError as error:
            raise self._refuse("file", path, error) from error
        self._answers["file", path] = data
        return data

    def stream(self, path: str, block: int) -> Iterator[bytes]:
        parts: list[bytes] = []
        answers = self._answers  # of the frame in which the read began, however late it ends
        try:
            for part in self._host.stream(path, block):
                parts.append(part)
                yield part
        except HostError as error:
            answers["file", path] = Refusal(word=error.word, detail=error.detail)
            raise
        finally:
            # Also what a reader took that wanted no more; but never over a refusal, such as one that was given up.
            if not isinstance(answers.get(("file", path)), Refusal):
                answers["file", path] = b"".join(parts)

    def list(self, path: str) -> Sequence[str]:
        try:
            names = self._host.list(path)
        except HostError as error:
            raise self._refuse("list", path, error) from error
        self._answers["list", path] = list(names)
        return names

    def readlink(self, path: str) -> str:
        try:
            target = self._host.readlink(path)
        except HostError as error:
            raise self._refuse("link", path, error) from error
        self._answers["link", path] = target
        return target

    def realpath(self, path: str) -> str:
        try:
            target = self._host.realpath(path)
        except HostError as error:
            raise self._refuse("real", path, error) from error
        self._answers["real", path] = target
        return target

    def device_number(self, path: str) -> tuple[int, int] | None:
        try:
            number = self._host.device_number(path)
        except HostError as error:
            raise self._refuse("device", path, error) from error
        self._answers["device", path] = None if number is None else list(number)
        return number

    def affinity(self, tid: int) -> bytes:
        key = f"/proc/{tid}/affinity"
        try:
            mask = self._host.affinity(tid)
        except HostError as error:
            raise self._refuse("affinity", key, error) from error
        self._answers["affinity", key] = mask.hex()
        return mask

    def page_nodes(self, pid: int, addresses: Sequence[int]) -> Sequence[int]:
        key = nodes_key(pid, addresses)
        try:
            nodes = self._host.page_nodes(pid, addresses)
        except HostError as error:
            raise self._refuse("pages", key, error) from error
        self._answers["pages", key] = list(nodes)
        return nodes

    @contextmanager
    def page_tables(self, pid: int) -> Iterator[PageTables]:
        answers = self._answers
        try:
            with self._host.page_tables(pid) as tables:
                answers["pagemap", tables_path(pid)] = True
                yield RecordedTables(pid, tables, answers)
        except HostError as error:
            answers.setdefault(("pagemap", tables_path(pid)), Refusal(word=error.word, detail=error.detail))
            raise

    def hugetlbfs_devices(self) -> Sequence[tuple[int, int]]:
        devices = self._host.hugetlbfs_devices()
        self._answers["device", "hugetlbfs"] = [list(device) for device in devices]
        return devices

    def longest_hold(self, pid: int, label: str) -> float:
        seconds = self._host.longest_hold(pid, label)
        self._answers["held", _moment_key(f"/proc/{pid}/maps", label)] = seconds
        return seconds

    def nvml(self, function: str, *arguments: int | str) -> Json:
        key = _nvml_key(function, arguments)
        try:
            answer = self._host.nvml(function, *arguments)
        except HostError as error:
            raise self._refuse("nvml", key, error) from error
        self._answers["nvml", key] = answer
        return answer

    def kubelet(self, method: str, request: bytes = b"") -> bytes:
        key = _kubelet_key(method, request)
        try:
            reply = self._host.kubelet(method, request)
        except HostError as error:
            raise self._refuse("kubelet", key, error) from error
        self._answers["kubelet", key] = reply
        return reply

    def container_labels(self, container_id: str) -> Mapping[str, str]:
        try:
            found = self._host.container_labels(container_id)
        except HostError as error:
            raise self._refuse("cri", container_id, error) from error
        self._answers["cri", container_id] = dict(found)
        return found

    def pick(self, path: str, *members: str) -> Mapping[str, str]:
        key = _pick_key(path, members)
        try:
            found = self._host.pick(path, *members)
        except HostError as error:
            raise self._refuse("pick", key, error) from error
        self._answers["pick", key] = dict(found)
        return found

    def environment(self, pid: int, variable: str) -> str | None:
        key = f"/proc/{pid}/environ {variable}"
        try:
            value = self._host.environment(pid, variable)
        except HostError as error:
            raise self._refuse("environ", key, error) from error
        self._answers["environ", key] = value
        return value

    def now(self, label: str) -> Instant:
        instant = self._host.now(label)
        self._answers["clock", label] = [instant.wall, instant.monotonic]
        return instant

    def seed(self, label: str) -> int:
        seed = self._host.seed(label)
        self._answers["seed", label] = seed
        return seed

    def started(self, pid: int, label: str) -> int:
        key = _moment_key(f"/proc/{pid}/stat", label)
        try:
            ticks = self._host.started(pid, label)
        except HostError as error:
            raise self._refuse("started", key, error) from error
        self._answers["started", key] = ticks
        return ticks

    def give_up(self, path: str, detail: str) -> HostError:
        return self._refuse("file", path, self._host.give_up(path, detail))

    def gave_up(self, path: str) -> HostError | None:
        error = self._host.gave_up(path)
        return None if error is None else self._refuse("file", path, error)


def _nvml_key(function: str, arguments: Sequence[int | str]) -> str:
    return json.dumps([function, *arguments])


def _kubelet_key(method: str, request: bytes) -> str:
    return f"{method} {request.hex()}" if request else method


def _pick_key(path: str, members: Sequence[str]) -> str:
    return " ".join((path, *members))


def _moment_key(path: str, label: str) -> str:
    return f"{path} {label}"
