"""A promtool unit test from Python: series in, what fired and what was recorded out. One sample a minute."""

import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).resolve().parent.parent.parent
RULES = REPOSITORY / "deploy" / "rules"
FILES = {name: RULES / f"{name}.rules.yaml" for name in ("drift", "rollups", "alerts", "pain")}

Series = Mapping[str, str]
"""Series to its samples in promtool's notation, one a minute from minute 0."""


def series(metric: str, /, *labels: Mapping[str, str], **more: str) -> str:
    """``metric{a="b"}``; later labels win, and an empty one is absent."""
    merged: dict[str, str] = {}
    for part in (*labels, more):
        merged |= part
    inside = ",".join(f'{name}="{value}"' for name, value in merged.items() if value)
    return f"{metric}{{{inside}}}"


def steps(*parts: tuple[int, float | None]) -> str:
    """A gauge: (minutes, value) after one another; None where it is not exposed, which a scrape marks as stale."""
    notation, shown = [], False
    for minutes, value in parts:
        if value is not None:
            notation.append(f"{value}x{minutes - 1}")
        elif shown:
            notation.append(f"stale _x{minutes - 1}" if minutes > 1 else "stale")
        else:
            notation.append(f"_x{minutes}")
        shown = value is not None
    return " ".join(notation)


def counting(*parts: tuple[int, float]) -> str:
    """A counter of seconds that grows by so many cores for so many minutes."""
    total, notation = 0.0, []
    for minutes, cores in parts:
        notation.append(f"{total:g}+{60 * cores:g}x{minutes - 1}")
        total += 60 * cores * minutes
    return " ".join(notation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One firing alert as promtool compares it: all labels but the name, all annotations."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """What an expression gives at a minute: series (as written by `series`) to value; nothing when empty."""

    expr: str
    minute: int
    values: Mapping[str, float]


def ever_fired(minute: int, *alerts: str) -> Samples:
    """Exactly these alerts fired at any time up to the minute."""
    expr = f'group by (alertname) (count_over_time(ALERTS{{alertstate="firing"}}[{minute + 1}m]))'
    return Samples(expr=expr, minute=minute, values={series("", alertname=name): 1 for name in alerts})


def promtool_test(
    promtool: str,
    folder: Path,
    inputs: Series,
    *,
    samples: Iterable[Samples] = (),
    alerts: Mapping[tuple[str, int], Iterable[Alert]] | None = None,
    external: Mapping[str, str] | None = None,
    rules: Iterable[str] = ("drift", "rollups", "alerts"),
    every: str = "1m",
) -> None:
    """Runs one unit test. ``alerts``: (alert name, minute) to what fires then. ``every``: evaluation interval.

    AssertionError with promtool's words.
    """
    document = {
        "rule_files": [str(FILES[name]) for name in rules],
        "evaluation_interval": every,
        "group_eval_order": [group["name"] for group in groups(rules)],
        "tests": [
            {
                "interval": "1m",
                "external_labels": dict(external or {}),
                "input_series": [{"series": name, "values": values} for name, values in inputs.items()],
                "alert_rule_test": [
                    {
                        "alertname": name,
                        "eval_time": f"{minute}m",
                        "exp_alerts": [
                            {"exp_labels": dict(a.labels), "exp_annotations": dict(a.annotations)} for a in expected
                        ],
                    }
                    for (name, minute), expected in (alerts or {}).items()
                ],
                "promql_expr_test": [
                    {
                        "expr": sample.expr,
                        "eval_time": f"{sample.minute}m",
                        "exp_samples": [{"labels": k, "value": v} for k, v in sample.values.items()],
                    }
                    for sample in samples
                ],
            }
        ],
    }
    path = folder / "case.test.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False, width=1000))
    done = subprocess.run([promtool, "test", "rules", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def groups(names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Groups of these rule files, in the order in which they build on one another."""
    for name in names:
        yield from yaml.safe_load(FILES[name].read_text())["groups"]


def alerts() -> dict[str, dict[str, Any]]:
    """Every alerting rule by its name."""
    return {rule["alert"]: rule for group in groups(FILES) for rule in group["rules"] if "alert" in rule}
