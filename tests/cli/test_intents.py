"""--intent.file: what it means, and errors that name the file and the key."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from numa_exporter.cli.intents import IntentError, load
from numa_exporter.cli.main import main
from numa_exporter.findings.intents import Intent

GOOD = """
intents:
- workload: {namespace: prod, pod: "llm-*"}
  home: 1
  reason: socket 0 is full
  until: 2026-12-31
- workload: {unit: vllm.service}
  codes: [cpu_remote, memory_remote]
  reason: known
- home: "0-1"
  reason: everywhere
"""


def write(folder: Path, text: str) -> str:
    path = folder / "intents.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_it_is_read(tmp_path: Path) -> None:
    midnight = datetime(2027, 1, 1, tzinfo=UTC).timestamp()
    assert load(write(tmp_path, GOOD)) == (
        Intent(reason="socket 0 is full", namespace="prod", pod="llm-*", home=frozenset({1}), until=midnight),
        Intent(reason="known", unit="vllm.service", codes=frozenset({"cpu_remote", "memory_remote"})),
        Intent(reason="everywhere", home=frozenset({0, 1})),
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("intents: [", "not YAML"),
        ("intents: 2026-13-45", "not YAML"),
        ("intents: [{reason: x, codes: [[a]]}]", "intents[0].codes: no finding is called ['a']"),
        ("intents: [{reason: x, home: 0, until: 9999-12-31}]", "intents[0].until: expected a day"),
        (f"intents: [{{reason: x, home: '{'9' * 5000}'}}]", "intents[0].home: expected NUMA nodes"),
        ("", "expected keys and values, found nothing"),
        ("exceptions: []", "unknown key 'exceptions'; expected intents"),
        ("intents: {}", "intents: expected a list, found dict"),
        ("intents: [5]", "intents[0]: expected keys and values, found int"),
        ("intents: [{home: 0}]", "intents[0].reason: expected words"),
        ("intents: [{reason: x}]", "intents[0]: expected home or codes"),
        ("intents: [{reason: x, home: left}]", "intents[0].home: expected NUMA nodes such as 0 or 0-1, found 'left'"),
        ("intents: [{reason: x, home: true}]", "intents[0].home: expected NUMA nodes"),
        ("intents: [{reason: x, codes: memory_remote}]", "intents[0].codes: expected a list"),
        ("intents: [{reason: x, codes: [memory]}]", "intents[0].codes: no finding is called 'memory'"),
        ("intents: [{reason: x, home: 0, until: soon}]", "intents[0].until: expected a day such as 2026-12-31"),
        ("intents: [{reason: x, home: 0, workload: {node: a}}]", "intents[0].workload: unknown key 'node'"),
        ("intents: [{reason: x, home: 0, workload: {pod: 5}}]", "intents[0].workload.pod: expected a shell pattern"),
        ("intents: [{reason: x, home: 0, unitl: 2026-01-01}]", "intents[0]: unknown key 'unitl'"),
    ],
)
def test_errors_name_the_key(tmp_path: Path, text: str, complaint: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(IntentError) as raised:
        load(path)
    assert str(raised.value).startswith(path)
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("verb", ["report", "serve"])
def test_a_bad_file_is_one_line_and_status_2(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, "intents: [{}]")
    assert main([verb, f"--intent.file={path}"]) == 2
    told = capsys.readouterr().err.strip()
    assert told.startswith(f"numa-exporter {verb}: --intent.file: {path}: intents[0].reason")
    assert "\n" not in told


def test_a_missing_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", f"--intent.file={tmp_path}/none.yaml"]) == 2
    assert "none.yaml: No such file or directory" in capsys.readouterr().err
