"""docs/findings.md, printed from FINDINGS and the engine table."""

from numa_exporter.findings import FINDINGS
from numa_exporter.findings.engines import CHECKED, ENGINES
from numa_exporter.findings.rule import Rule
from numa_exporter.model.thresholds import Thresholds, limits

HEADER = """# Findings

Printed from `numa_exporter/findings/` by `make docs`; a test holds it fresh; [runbooks.md](runbooks.md) says more.

A finding is one judged fact: a sentence, the raw lines behind it, the limit, since when, and what to type. The metric
is `numa_findings`; a finding that an intent covers carries the label `suppressed`. No finding promises a speed-up.

What to type is a list of forms, the best first, with an empty line between two: the engine's own flags; a
KubeletConfiguration and a pod spec (what of them is not set already), a drop-in of a systemd unit, a flag of docker or
Slurm; `numactl` or `taskset` before the command. Capitals are yours to fill in.

How long it must last before it is said: "looks" are evaluations, one an `--interval`. "-": at once; `memory_remote`,
`host_buffers_remote`, `cpu_remote` and `rank_swapped` with the rank's verdict, which has waited by itself (Limits).

| code | level | what it says | lasts |
|---|---|---|---|
"""
LIMITS = """
## Limits

Every limit is a flag, `--threshold.NAME`, and a gauge, `numa_exporter_threshold{name}`. Base units: bytes, seconds,
cores, ratios.

| name | default | why |
|---|---|---|
"""
ENGINE_FLAGS = """
## Engine flags

What remedies name, as of {checked}. An engine is named only where a process name gives it away.

| engine | flag | sets a memory policy |
|---|---|---|
"""


def markdown() -> str:
    """The whole page."""
    defaults = Thresholds()
    return "".join(
        (
            HEADER,
            *(f"| `{rule.code}` | {' or '.join(rule.levels)} | {rule.docs} | {_lasts(rule)} |\n" for rule in FINDINGS),
            LIMITS,
            *(f"| `{limit.name}` | {limit.default:.10g} | {limit.why} |\n" for limit in limits(defaults)),
            ENGINE_FLAGS.format(checked=CHECKED),
            *(f"| {row.name} | `{row.flag}` | {'yes' if row.memory_policy else 'no'} |\n" for row in ENGINES),
        )
    )


def _lasts(rule: Rule) -> str:
    if rule.seconds is not None:
        return f"{rule.seconds(Thresholds()):g} s"
    return f"{Thresholds().evaluations:g} looks" if rule.looks else "-"
