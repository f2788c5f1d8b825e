"""Answers to the questions that a source may put to a simulated host."""

from collections.abc import Mapping, Sequence

from numa_exporter.model.recording import Answer, Json, Question, Refusal

ABSENT = Refusal(word="absent", detail="No such file or directory")
GONE = Refusal(word="gone", detail="No such process")


class Answers(dict[Question, Answer]):
    """A frame's answers, written door by door."""

    def file(self, path: str, text: str) -> None:
        self["file", path] = text.encode() + b"\n"

    def listing(self, path: str, names: Sequence[str]) -> None:
        self["list", path] = sorted(names)

    def real(self, path: str, target: str) -> None:
        self["real", path] = target

    def link(self, path: str, target: str) -> None:
        self["link", path] = target

    def device(self, path: str, number: tuple[int, int] | None) -> None:
        self["device", path] = None if number is None else list(number)

    def affinity(self, tid: int, mask: str) -> None:
        self["affinity", f"/proc/{tid}/affinity"] = mask

    def nvml(self, question: str, answer: "Json | Refusal") -> None:
        self["nvml", question] = answer


def refusal(question: Question, standing: Mapping[Question, Answer]) -> Answer:
    """What a machine says that has no such thing."""
    door, key = question
    if question in standing:
        return standing[question]
    # A kernel without PAGEMAP_SCAN: sampling asks move_pages alone.
    process = door != "pagemap" and key.startswith("/proc/") and key[6:7].isdigit()
    return GONE if process else ABSENT
