"""Findings in words: left what is wrong, with its evidence; right what to type, each distinct remedy once."""

from collections.abc import Iterable, Sequence

from numa_exporter.page.anchors import anchor
from numa_exporter.page.document import Finding
from numa_exporter.page.markup import NOTHING, Markup, hidden_text, join, tag
from numa_exporter.page.rows import TRIANGLE
from numa_exporter.page.words import NBSP, clock

CAUSES = {
    "grant_broken": "its cpuset is not what the kubelet granted",
    "cpuset_off_home": "its cpuset has no CPU of its home",
    "policy_off_home": "its memory policy names another node",
    "rank_swapped": "two ranks run in each other's place",
}
"""Told before what they lead to: the reader asks why."""
ORDER = " The best first; kubelet and pod spec belong together."


def draw(findings: Iterable[Finding], scope: str, taken_at: str | None) -> Markup:
    """All findings about `scope` (a workload's anchor, or "machine"); nothing where there are none."""
    groups = _by_code(findings)
    if not groups:
        return NOTHING
    said = (_suppressed(g) if g[0].suppressed else _finding(g, scope, taken_at) for g in groups)
    return tag("div", tag("div", said), _remedies(groups, scope), class_="notes")


def fix_anchor(scope: str) -> str:
    """Id of the place that tells what to type."""
    return f"fix-{scope}"


def _by_code(findings: Iterable[Finding]) -> list[tuple[Finding, ...]]:
    """Live ones first, warnings before info, causes before effects; findings of one code become one entry, the largest
    value first."""
    groups: dict[tuple[str, bool], list[Finding]] = {}
    for finding in sorted(findings, key=_urgency):
        groups.setdefault((finding.code, finding.suppressed is not None), []).append(finding)
    return [tuple(sorted(group, key=lambda f: -(f.value or 0.0))) for group in groups.values()]


def _urgency(finding: Finding) -> tuple[bool, bool, bool]:
    return (finding.suppressed is not None, not finding.warning, finding.code not in CAUSES)


def _finding(group: Sequence[Finding], scope: str, taken_at: str | None) -> Markup:
    first, more = group[0], group[1:]
    mark = (TRIANGLE, hidden_text("Warning:"), " ") if first.warning else None
    since = clock(first.since, taken_at)
    summary = join(
        tag("code", first.code),
        f" since {since}" if since else None,
        f", and {len(more)} more like it" if more else None,
        ": evidence",
    )
    details = tag(
        "details",
        tag("summary", summary),
        tag("ul", (tag("li", finding.sentence) for finding in more)) if more else None,
        tag("p", _measure(first), class_="quiet"),
        _evidence(group),
        id=anchor("e", scope, first.code),
    )
    return tag("div", tag("p", mark, first.sentence), details, class_="finding warning" if first.warning else "finding")


def _measure(finding: Finding) -> str:
    window = f"{finding.window_seconds:g}{NBSP}s" if finding.window_seconds is not None else "an unknown time"
    value, limit = (f"{x:g}" if x is not None else "unknown" for x in (finding.value, finding.limit))
    return f"Value {value}, limit {limit}, over {window}; confidence {finding.confidence or 'unknown'}."


def _evidence(group: Iterable[Finding]) -> Markup:
    lines = dict.fromkeys(pair for finding in group for pair in finding.evidence)
    return tag("dl", ((tag("dt", path), tag("dd", line)) for path, line in lines)) if lines else NOTHING


def _suppressed(group: Sequence[Finding]) -> Markup:
    """Drawn, but never with ▲: someone said that it is meant so."""
    exception = group[0].suppressed
    until = f" until {exception.until}" if exception and exception.until else ""
    reason = f": {exception.reason}" if exception and exception.reason else ""
    return tag(
        "div",
        tag("p", tag("b", "Suppressed"), f"{until}{reason}."),
        (tag("p", finding.sentence, " ", tag("code", finding.code)) for finding in group),
        class_="finding suppressed",
    )


def _remedies(groups: Iterable[Sequence[Finding]], scope: str) -> Markup:
    """Each form once with the codes that it answers, in the order of the findings; then what they need, once."""
    forms: dict[str, dict[str, None]] = {}
    needs: dict[str, None] = {}
    for finding in (finding for group in groups for finding in group if finding.suppressed is None):
        for form in finding.forms:
            forms.setdefault(form, {})[finding.code] = None
        needs |= dict.fromkeys(finding.needs)
    if not forms and not needs:
        return NOTHING
    heading = tag("b", "What to type" if forms else "What to do")
    order = tag("span", ORDER, class_="quiet") if len(forms) > 1 else None
    body = join(
        join(_form(form, codes) for form, codes in forms.items()),
        tag("ul", (tag("li", need) for need in needs), class_="quiet") if needs else None,
    )
    # Where nothing is wrong, advice waits until it is asked for: it would bury what is.
    if not any(finding.live_warning for group in groups for finding in group):
        told = tag("p", order) if order else None
        return tag("details", tag("summary", heading), told, body, id=fix_anchor(scope), class_="to-type")
    return tag("div", tag("p", heading, order), body, id=fix_anchor(scope), class_="to-type", tabindex=-1)


def _form(form: str, codes: Iterable[str]) -> Markup:
    return join(tag("p", "for ", ", ".join(codes), class_="answers"), tag("pre", form))
