"""What to type: each form once, with the findings that it answers; and unknown is said as unknown."""

import pytest

from numa_exporter.page import render
from tests.page.parsed import Element, parse
from tests.page.reports import finding, machine, node, rank, report, stored, swapped_memory, workload

KUBELET = "# kubelet\napiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration"
DOWN = {"up": False, "failure": "stuck", "duration_seconds": None, "age_seconds": 412}


def page(document: dict[str, object]) -> Element:
    return parse(render(document).html)


def to_type(document: dict[str, object]) -> list[tuple[str, str]]:
    (place,) = page(document).with_class("to-type")
    return [(e.text, form.text) for e, form in zip(place.with_class("answers"), place.every("pre"), strict=True)]


def test_one_box_a_workload_each_form_once_with_what_it_answers() -> None:
    remote = finding(
        "memory_remote", "a", remedy=f"engine --bind\n\n{KUBELET}\n\nnumactl COMMAND", remedy_note="X.\nY."
    )
    busy = finding("cpu_remote", "a", remedy=f"engine --bind\n\n{KUBELET}\n\ntaskset COMMAND", remedy_note="X.\nZ.")
    known = finding("rank_swapped", "a", remedy="never", suppressed={"reason": "meant so", "until": None})
    shown = report(workload("a", swapped_memory()), findings=[remote, busy, known])
    assert to_type(shown) == [
        ("for memory_remote, cpu_remote", "engine --bind"),
        ("for memory_remote, cpu_remote", KUBELET),
        ("for memory_remote", "numactl COMMAND"),
        ("for cpu_remote", "taskset COMMAND"),
    ]
    (place,) = page(shown).with_class("to-type")
    assert [e.text for e in place.every("li")] == ["X.", "Y.", "Z."]
    assert place.every("p")[0].text == "What to type The best first; kubelet and pod spec belong together."


def test_why_comes_before_what_follows() -> None:
    codes = ("memory_remote", "cpu_remote", "policy_off_home", "numa_balancing_on")
    told = [finding(code, "a", level="info" if code == "numa_balancing_on" else "warning") for code in codes]
    shown = page(report(workload("a", swapped_memory()), findings=told))
    assert [e.every("code")[0].text for e in shown.with_class("finding")] == [
        "policy_off_home",
        "memory_remote",
        "cpu_remote",
        "numa_balancing_on",
    ]


def test_advice_is_folded_where_nothing_is_wrong() -> None:
    known = finding("cpuset_unconfined", "a", level="info", remedy=KUBELET)
    bad = finding("memory_remote", "b", remedy="engine --bind")
    both = report(workload("a", rank(0, [0])), workload("b", swapped_memory()), findings=[known, bad])
    found = {place.tag: place.every("pre")[0].text for place in page(both).with_class("to-type")}
    assert found == {"div": "engine --bind", "details": KUBELET}


def test_advice_without_anything_to_type() -> None:
    told = finding("affinity_unknown", level="info", remedy=None, remedy_note="Update the firmware.")
    (place,) = page(report(findings=[told])).with_class("to-type")
    assert place.text == "What to doUpdate the firmware."
    assert place.every("pre") == []


def test_gpus_that_nobody_answered_for_are_not_none() -> None:
    unknown = page(report(gpus=None))
    assert unknown.every("h1")[0].text == "Could not tell which GPUs are here"
    assert "GPUs unknown" in unknown.every("header")[0].text
    none = page(report(gpus=[]))
    assert none.every("h1")[0].text == "This machine has no GPU"
    assert "no GPU" in none.every("header")[0].text


def test_why_no_verdict_may_be_given_at_all() -> None:
    fixed = rank(0, [0], unjudged="used bytes are not known and its GPUs span sockets", not_judged={})
    shown = page(report(workload("a", fixed, rank(1, [1]))))
    assert [e.text for e in shown.with_class("state")] == [
        "not fully judged: used bytes are not known and its GPUs span sockets"
    ]
    bars = {e.attributes["class"] for e in shown.with_class("rows")[0].with_class("row")[0].every("rect")}
    assert bars == {"unjudged"}
    assert shown.every("h1")[0].text == "1 judged rank runs with the grain; 1 not fully judged"


def test_a_verdict_that_is_to_be_doubted_says_why() -> None:
    old = swapped_memory() | {"low_confidence": "NVML last listed its contexts 90 s ago"}
    shown = page(report(workload("a", old, rank(1, [1]))))
    assert [e.text for e in shown.with_class("doubts")] == [
        "GPU 0: low confidence, NVML last listed its contexts 90 s ago."
    ]
    assert "doubtful" in shown.with_class("who")[1].text
    assert any("Low confidence: NVML last listed its contexts 90 s ago." in e.text for e in shown.with_class("spoken"))
    assert page(stored("two-socket")).with_class("doubts") == []


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("package_per_cpu", "every CPU claims a package of its own, as in many virtual machines"),
        ("node_spans_packages", "one node spans several packages (NPS0)"),
        (None, "this machine does not say which nodes share a package"),
    ],
)
def test_why_sockets_are_unknown(why: str | None, said: str) -> None:
    lost = machine(node(0, None), node(1, None), sockets_unknown=why)
    assert [e.text for e in page(report(machine=lost)).with_class("frame")] == [f"sockets unknown {said}"]


def test_suppressed_has_one_shape() -> None:
    """Reason and last day; what has another shape is not taken for an exception."""
    meant = {"reason": "perf-1182", "until": "2026-03-31"}
    shown = page(report(workload("a", rank(0, [0])), findings=[finding("memory_remote", "a", suppressed=meant)]))
    assert shown.with_class("suppressed")[0].text.startswith("Suppressed until 2026-03-31: perf-1182.")
    text = page(report(workload("a", rank(0, [0])), findings=[finding("memory_remote", "a", suppressed="known")]))
    assert text.with_class("suppressed") == []


def test_limits_are_folded() -> None:
    (folded,) = [e for e in page(stored("two-socket")).every("details") if e.attributes.get("id") == "limits"]
    assert "open" not in folded.attributes
    assert folded.every("summary")[0].text == "Limits in force"
    assert "memory 0.2" in [e.text for e in folded.every("li")]
