"""Answers to JSON lines and back, and which member of the archive a question belongs to.

One line an answer: {"door": "file", "key": "/proc/42/stat", "text": "..."}; bytes that are not UTF-8 as "base64",
answers of the other doors as "json", a refusal as "refused" with its "detail".
"""

import base64
import json
import re
from collections.abc import Mapping

from numa_exporter.bundle import doors
from numa_exporter.model.recording import Answer, Json, Question, Refusal

# Member names are made of these alone: whatever a path holds, an archive's names stay harmless.
_PROCESS = re.compile(r"/proc/([0-9]+)/")
_AREA = re.compile(r"/sys/([a-z]+)/([a-z0-9_-]+)")
_TOP = re.compile(r"/([a-z]+)/")


class BundleError(ValueError):
    """What is wrong with a bundle: the file, the member, and the line where there is one."""


def member_of(question: Question) -> str:
    """One member per process and per sysfs area: thousands of threads become a handful of members."""
    door, key = question
    if door in ("nvml", "kubelet", "cri", "clock", "seed"):
        return f"{door}.jsonl"
    process = _PROCESS.match(key)
    if process is not None:
        return f"proc/{process[1]}.jsonl"
    area = _AREA.match(key)
    if area is not None:
        return f"sys/{area[1]}-{area[2]}.jsonl"
    top = _TOP.match(key)
    return f"{top[1]}.jsonl" if top is not None else "other.jsonl"


def line_of(question: Question, answer: Answer) -> str:
    """One answer as one line of JSON."""
    told: dict[str, object] = {"door": question[0], "key": question[1]}
    if isinstance(answer, Refusal):
        told |= {"refused": answer.word, "detail": answer.detail}
    elif isinstance(answer, bytes):
        try:
            told["text"] = answer.decode("utf-8")
        except UnicodeDecodeError:
            told["base64"] = base64.b64encode(answer).decode("ascii")
    else:
        told["json"] = answer
    # ASCII: a name that is no UTF-8 is a lone surrogate here (os.fsdecode), which JSON can escape but UTF-8 not write.
    return json.dumps(told, sort_keys=True)


def answer_of(told: Mapping[str, object]) -> tuple[Question, Answer]:
    """The question and answer of a line; KeyError, TypeError or ValueError where it is not one."""
    question = (str(told["door"]), str(told["key"]))
    if "refused" in told:
        word, detail = str(told["refused"]), str(told.get("detail", ""))
        doors.check_refusal(word, detail)
        return question, Refusal(word=word, detail=detail)
    if question[0] in doors.OF_BYTES:
        if "text" in told:
            return question, str(told["text"]).encode("utf-8")
        return question, base64.b64decode(str(told["base64"]), validate=True)
    answer: Json = told["json"]  # type: ignore[assignment]
    doors.check(question, answer)
    return question, answer
