"""The page at `/`, from one report document and nothing else. Pure: the same document gives the same bytes."""

from collections.abc import Mapping
from dataclasses import dataclass

from numa_exporter.page import looked_at, machine, verdict, workloads
from numa_exporter.page.document import Document
from numa_exporter.page.hardware import Machine
from numa_exporter.page.ledger import Ledger, build
from numa_exporter.page.markup import NOTHING, Markup, join, tag
from numa_exporter.page.policy import content_security_policy
from numa_exporter.page.script import SCRIPT
from numa_exporter.page.style import stylesheet
from numa_exporter.page.words import plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """`html`: the document; `csp`: value of the Content-Security-Policy header that it must be served with."""

    html: str
    csp: str


def render(document: Mapping[str, object]) -> Page:
    """Render a decoded report document (contract §6). Unknown and missing parts are said, never guessed; no errors."""
    ledger = build(Document.read(document))
    style = stylesheet(ledger.columns)
    body = tag("body", PATTERNS, _header(ledger), _main(ledger), tag("script", Markup(SCRIPT)), class_=_shape(ledger))
    html = join(
        Markup("<!doctype html>\n"),
        tag("html", _head(ledger.document, style), "\n", body, lang="en"),
    )
    return Page(html=html, csp=content_security_policy(style, SCRIPT))


PATTERNS = tag(
    "svg",
    tag(
        "defs",
        tag(
            "pattern",
            tag("rect", class_="hatch-line", width="1.6", height="5"),
            id="hatch",
            width="5",
            height="5",
            patternUnits="userSpaceOnUse",
            patternTransform="rotate(45)",
        ),
        tag(
            "pattern",
            tag("circle", class_="dot", cx="2", cy="2", r="1.2"),
            id="dots",
            width="6",
            height="6",
            patternUnits="userSpaceOnUse",
        ),
    ),
    width="0",
    height="0",
    class_="spoken",
    aria_hidden="true",
)
"""Hatching for remote under the limit, dots for not judged: neither needs colour to be told apart."""

KEY = (
    ("local", "at home"),
    ("socket", "same socket"),
    ("remote", "remote, under the limit"),
    ("against", "remote, over the limit: against the grain"),
    ("unjudged", "not judged"),
)


def _head(document: Document, style: str) -> Markup:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width,initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{document.nodename}: NUMA placement"),
        tag("style", Markup(style)),
    )


def _shape(ledger: Ledger) -> str | None:
    names = ("mirrored" if ledger.columns.mirrored else "", "many" if ledger.columns.narrow else "")
    return " ".join(filter(None, names)) or None


def _header(ledger: Ledger) -> Markup:
    document = ledger.document
    taken = document.taken_at
    time = tag("time", f"{taken[11:19]} UTC", datetime=taken) if taken and len(taken) >= 19 else "an unknown time"
    return tag(
        "header",
        _banner(document),
        tag("p", tag("b", document.nodename), " ", _facts(document)),
        tag(
            "p",
            tag("span", id="status", class_="spoken", role="status"),
            tag("span", "As of ", time, id="as-of"),
            " · ",
            tag("a", "JSON", href="/api/v1/report"),
            " · ",
            tag("a", "metrics", href="/metrics"),
        ),
    )


def _banner(document: Document) -> Markup:
    """Only where the numbers are not of this machine, now."""
    if document.mode == "simulated":
        words = "Simulated: no such machine exists. Numbers come from numa-exporter demo."
    elif document.mode == "replay":
        taken = document.taken_at or "at an unknown time"
        words = f"Replay: read from a bundle of {document.nodename} taken {taken}. Nothing here is live."
    else:
        return NOTHING
    return tag("p", words, class_="banner")


def _facts(document: Document) -> str:
    hardware = document.machine
    facts = (
        plural(len(hardware.sockets), "socket") if hardware.sockets else "sockets unknown",
        plural(len(hardware.nodes), "NUMA node"),
        _gpus(hardware),
        f"kernel {document.kernel}" if document.kernel else "kernel unknown",
    )
    return " · ".join(facts)


def _gpus(hardware: Machine) -> str:
    models = ", ".join(sorted({gpu.model for gpu in hardware.gpus if gpu.model})) or "GPU"
    if hardware.gpus:
        return f"{len(hardware.gpus)} × {models}"
    return "no GPU" if hardware.gpus_known else "GPUs unknown"


def _main(ledger: Ledger) -> Markup:
    compares = bool(ledger.rows) and not ledger.columns.single and bool(ledger.columns.tracks)
    placement = tag(
        "section",
        tag("h2", "Where it runs and where its memory is" if ledger.rows else "The machine"),
        _key(ledger) if compares else None,
        machine.draw(ledger),
        machine.draw_strip(ledger) if compares else None,
        workloads.draw(ledger),
        looked_at.draw_observers(ledger.document),
        id="placement",
    )
    ending = (looked_at.draw_machine_findings(ledger), looked_at.draw_sources(ledger.document))
    return tag("main", verdict.draw(ledger), placement, ending, id="main")


def _key(ledger: Ledger) -> Markup:
    entries = (entry for entry in KEY if entry[0] != "socket" or len(ledger.columns.nodes) > 2)
    return tag(
        "ul",
        (tag("li", _swatch(name), meaning) for name, meaning in entries),
        tag("li", tag("span", class_="home-swatch", aria_hidden="true"), "home of the rank"),
        class_="key",
        role="list",
    )


def _swatch(name: str) -> Markup:
    bar = tag("rect", class_=name, x=".75", y=".75", width="24.5", height="10.5")
    return tag("svg", bar, width="26", height="12", aria_hidden="true")
