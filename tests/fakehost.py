"""A host made of a few lines of text: what tests of sources, join and findings read instead of a machine.

``fake_host({"/proc/1/stat": "..."})`` answers from those files; directories follow from their paths. A value
may be a Refusal (DENIED, GONE, ABSENT). Links: ``links={"/sys/class/net/eth0/device": "/sys/devices/..."}``.
"""

from collections.abc import Mapping, Sequence

from numa_exporter.model.recording import Answer, Frame, Json, Question, Recording, Refusal
from numa_exporter.sources.replay import ReplayHost

DENIED = Refusal(word="denied", detail="Permission denied")
GONE = Refusal(word="gone", detail="No such process")
ABSENT = Refusal(word="absent", detail="No such file or directory")

Files = Mapping[str, str | bytes | Refusal]


def answers_of(
    files: Files,
    *,
    links: Mapping[str, str] | None = None,
    devices: Mapping[str, tuple[int, int]] | None = None,
    affinity: Mapping[int, Sequence[int]] | None = None,
    nvml: "Mapping[str, Json | Refusal] | None" = None,
    kubelet: Mapping[str, bytes | Refusal] | None = None,
    picked: "Mapping[str, Mapping[str, str] | Refusal] | None" = None,
    environment: "Mapping[tuple[int, str], str | Refusal | None] | None" = None,
) -> dict[Question, Answer]:
    """Answers to the questions that a source would ask a host made of these.

    ``links``: path to its real path (the files below the link are reachable through both names).
    ``devices``: character devices by path. ``affinity``: CPUs by thread id. ``nvml``: answers by question in the
    form '["DeviceGetUUID", 0]'. ``kubelet``: replies by method. ``picked``: what is found, by the path and members
    asked for. ``environment``: values by PID and variable.
    """
    links = dict(links or {})
    everything = dict(files)
    for path, target in links.items():
        for name, content in files.items():
            if name.startswith(target + "/"):
                everything.setdefault(path + name[len(target) :], content)
    answers: dict[Question, Answer] = {}
    folders: dict[str, set[str]] = {}
    for path, content in everything.items():
        answers["file", path] = content.encode() if isinstance(content, str) else content
    for path in [*everything, *links, *(devices or {})]:
        parent, _, name = path.rpartition("/")
        while name:
            folders.setdefault(parent or "/", set()).add(name)
            parent, _, name = parent.rpartition("/")
    for folder, names in folders.items():
        answers["list", folder] = sorted(names)
        answers.setdefault(("real", folder), folder)
    for path, target in links.items():
        answers["link", path] = target
        answers["real", path] = target
    for path, number in (devices or {}).items():
        answers["device", path] = list(number)
    for tid, cpus in (affinity or {}).items():
        width = max(16, (max(cpus, default=0) // 64 + 1) * 8)
        answers["affinity", f"/proc/{tid}/affinity"] = sum(1 << cpu for cpu in cpus).to_bytes(width, "little").hex()
    for question, answer in (nvml or {}).items():
        answers["nvml", question] = answer
    for method, reply in (kubelet or {}).items():
        answers["kubelet", method] = reply
    for asked, found in (picked or {}).items():
        answers["pick", asked] = found
    for (pid, variable), value in (environment or {}).items():
        answers["environ", f"/proc/{pid}/environ {variable}"] = value
    return answers


def fake_host(files: Files, *, later: Sequence[Files] = (), seconds: float = 15.0, **doors: object) -> ReplayHost:
    """A replayed host; each mapping in ``later`` is another frame that overrides files of the first."""
    frames = []
    for number, changes in enumerate([{}, *later]):
        answers = answers_of({**files, **changes}, **doors)  # type: ignore[arg-type]
        frames.append(
            Frame(taken_at=1_769_860_800.0 + number * seconds, monotonic=1000.0 + number * seconds, answers=answers)
        )
    return ReplayHost(Recording(nodename="fake", simulated=False, exporter="test", frames=tuple(frames), settings={}))
