"""Each state of a machine has its own words, and none is claimed that nobody could see."""

import pytest

from numa_exporter.page import render
from numa_exporter.sources.table import SOURCES
from tests.page.parsed import Element, parse
from tests.page.reports import GIB, finding, gpu, machine, node, rank, report, stored, swapped_memory, workload

DOWN = {"up": False, "failure": "stuck", "duration_seconds": None, "age_seconds": 412}


def page(document: dict[str, object]) -> Element:
    return parse(render(document).html)


def headline(document: dict[str, object]) -> str:
    (heading,) = page(document).every("h1")
    return heading.text


def lines(document: dict[str, object]) -> list[str]:
    (verdict,) = [e for e in page(document).every("section") if e.attributes.get("id") == "verdict"]
    return [line.text for line in verdict.every("li")]


def states(document: dict[str, object]) -> list[str]:
    return [e.text for e in page(document).with_class("state")]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("two-socket", "▲ 3 of 8 ranks run against the grain"),
        ("nps4", "▲ 3 of 8 ranks run against the grain"),
        ("gb200", "▲ 1 of 4 ranks runs against the grain"),
        ("healthy", "All 4 ranks run with the grain"),
        ("idle", "No process holds a GPU here now"),
        ("single-node", "One NUMA node: nothing can be out of place"),
        ("unknown", "Could not tell: no rank was fully judged"),
        ("forty", "▲ 2 of 40 ranks run against the grain; 1 not fully judged"),
        ("edges", "▲ 1 of 2 ranks runs against the grain; 1 not fully judged"),
    ],
)
def test_headline_of_each_machine(name: str, said: str) -> None:
    assert headline(stored(name)) == said


def test_headline_beside_doubt_exceptions_and_warnings() -> None:
    young = rank(0, [0], not_judged={"cpu_time": "needs 5 min"})
    assert headline(report(workload("a", young, rank(1, [1]), rank(1, [1])))) == (
        "All 2 judged ranks run with the grain; 1 not fully judged"
    )
    excuse = finding("memory_remote", "a", suppressed={"reason": "meant so", "until": None})
    assert headline(report(workload("a", swapped_memory(), rank(1, [1])), findings=[excuse])) == (
        "1 of 2 ranks runs with the grain; 1 suppressed on purpose"
    )
    broken = report(workload("a", rank(0, [0]), rank(1, [1])), findings=[finding("cpuset_off_home", "a")])
    assert headline(broken) == "All 2 ranks run with the grain; 1 warning"
    assert lines(broken) == ["serving/a: The sentence of cpuset_off_home. What to type"]
    assert states(broken) == ["▲ 1 warning"]
    assert headline(report(workload("a", rank(0, [0])))) == "The only rank runs with the grain"


def test_a_machine_without_gpus_says_so_and_shows_the_machine() -> None:
    bare = report(gpus=[])
    assert headline(bare) == "This machine has no GPU"
    assert [e.text.split(" CPUs")[0] for e in page(bare).with_class("node")] == ["node 0", "node 1"]
    assert "no GPU" in page(bare).every("header")[0].text


def test_nothing_is_claimed_that_a_source_which_is_down_would_have_seen() -> None:
    blind = {"nvml": DOWN}
    assert headline(report(sources=blind)) == "Could not tell which process holds a GPU"
    unseen = report(attribution={"attributed": None})
    assert headline(unseen) == "Could not tell which process holds a GPU"
    assert headline(report(gpus=[], sources=blind)) == "Could not tell which GPUs are here"
    assert headline({}) == "Could not tell which GPUs are here"
    assert "free" not in [e.text for e in page(report(sources=blind)).every("small")]


def test_one_or_two_bad_ranks_are_told_apart() -> None:
    assert lines(stored("two-socket")) == [
        "embed-dp2.service: GPU 3 (home node 0) has 94 % of its CPU time, 97 % of its memory (11.1 GiB), "
        "100 % of its host buffers (2.0 GiB) on node 1; GPU 7 (home node 1) has 96 % of its CPU time, "
        "95 % of its memory (10.8 GiB), 100 % of its host buffers (2.0 GiB) on node 0. "
        "Why: two ranks run in each other's place. What to type",
        "serving/qwen-32b-tp2-0: GPU 6 (home node 1) has 50 % of its memory (18.7 GiB), "
        "80 % of its host buffers (5.1 GiB) on node 0. What to type",
    ]


def test_the_cause_is_told_with_what_it_led_to() -> None:
    why = [finding(code, "a") for code in ("cpuset_off_home", "memory_remote", "grant_broken")]
    (line,) = lines(report(workload("a", swapped_memory()), findings=why))
    assert "on node 1. Why: its cpuset is not what the kubelet granted and its cpuset has no CPU of its home." in line
    intended = finding("grant_broken", "a", suppressed={"reason": "a test", "until": None})
    (line, _) = lines(report(workload("a", swapped_memory()), findings=[intended, finding("memory_remote", "a")]))
    assert "Why" not in line


def test_three_bad_ranks_are_told_together() -> None:
    assert lines(stored("nps4")) == [
        "serving/deepseek-tp8-0: GPU 1, 4, 6 have up to 58 % of their CPU time, 58 % of their memory (22.0 GiB), "
        "58 % of their host buffers (4.6 GiB) on the other socket. What to type"
    ]


def test_at_most_five_workloads_are_told() -> None:
    many = report(*(workload(f"w{i}", swapped_memory()) for i in range(7)))
    assert len(lines(many)) == 6
    assert lines(many)[-1] == "and 2 more workloads, below"


def test_a_warning_about_the_machine_marks_its_column_and_is_told() -> None:
    full = finding("local_memory_exhausted", subject={"numa_node": 1})
    shown = page(report(workload("a", rank(0, [0])), findings=[full]))
    marked = [box.text.split(" CPUs")[0] for box in shown.with_class("node") if "local_memory_exhausted" in box.text]
    assert marked == ["node 1"]
    assert lines(report(findings=[full])) == ["the machine: The sentence of local_memory_exhausted."]


def test_a_warning_about_device_memory_marks_the_node_of_its_gpu() -> None:
    marked = [box.text for box in page(stored("gb200")).with_class("node") if "gpu_node_polluted" in box.text]
    assert len(marked) == 1 and "memory is node 2" in marked[0]


def test_blind_spots_name_what_rests_on_them() -> None:
    (blind,) = page(stored("unknown")).with_class("blind")
    assert blind.text == (
        "Blind spots: nvml, who holds which GPU (stuck, last read 412 s ago); memory, where pages are "
        "(denied: 2 of 2 processes (numa_maps), last read 21 s ago). What rests on them below is old or missing."
    )


@pytest.mark.parametrize("source", [source.name for source in SOURCES])
def test_of_every_source_it_is_known_what_rests_on_it(source: str) -> None:
    (blind,) = page(report(sources={source: DOWN})).with_class("blind")
    assert "side reading" not in blind.text


def test_an_absent_source_is_only_listed() -> None:
    shown = page(stored("gb200"))
    assert shown.with_class("blind") == []
    assert "resctrl absent" in [e.text for e in shown.with_class("sources")[0].every("li")]


def test_idle_has_no_key_no_strip_and_only_free_chips() -> None:
    shown = page(stored("idle"))
    assert shown.with_class("key") == shown.with_class("strip") == []
    assert len(shown.with_class("chip")) == len(shown.with_class("free")) == 8


def test_one_node_has_no_key_no_strip_and_folds_all() -> None:
    shown = page(stored("single-node"))
    assert shown.with_class("key") == shown.with_class("strip") == []
    assert {e.tag for e in shown.with_class("workload")} == {"details"}


def test_forty_workloads_fold_except_the_bad_ones() -> None:
    shown = page(stored("forty"))
    tags = [e.tag for e in shown.with_class("workload")]
    assert (tags.count("section"), tags.count("details")) == (2, 38)
    chips = [e.text for e in shown.with_class("chip")]
    assert chips[1] == "GPU 1 ▲ against the grain5 ranksmlx5_1"
    assert [e.text for e in shown.with_class("suppressed")] == [
        "Suppressed until 2026-03-31: CPU offload uses both sockets on purpose (perf-1182)."
        "GPU 1 keeps 2.4 GiB of its 5.9 GiB of memory (41 %) on node 1, the other socket. memory_remote"
    ]
    assert "1 finding suppressed on purpose, shown below" in lines(stored("forty"))


def test_many_nodes_without_anything_are_told_not_drawn() -> None:
    shown = page(stored("gb200"))
    assert "Not drawn: 30 nodes with neither CPUs nor memory (3-9,11-17,19-25,27-35)." in [
        e.text for e in shown.with_class("below")
    ]
    assert [e.text for e in shown.every("small")][:2] == ["memory is node 2", "memory is node 10"]


def test_unknown_affinity_is_not_placed_and_unknown_sockets_have_one_frame() -> None:
    shown = page(stored("unknown"))
    assert [e.text for e in shown.with_class("not-placed")] == ["Not placed (affinity unknown): GPU 0GPU 1"]
    assert [e.text for e in shown.with_class("frame")] == [
        "sockets unknown this machine does not say which nodes share a package"
    ]
    assert shown.with_class("home") == []


def test_states_of_workloads() -> None:
    assert states(stored("two-socket")) == [
        "▲ 2 of 2 ranks against the grain",
        "▲ 1 of 2 ranks against the grain",
        "4 ranks at home, at most 4 % remote",
    ]
    assert "not fully judged: its home covers every socket" in states(stored("edges"))
    assert "suppressed: CPU offload uses both sockets on purpose (perf-1182)" in states(stored("forty"))
    assert states(report(workload("a"))) == ["no rank holds a GPU"]


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("simulated", ["Simulated: no such machine exists. Numbers come from numa-exporter demo."]),
        ("replay", ["Replay: read from a bundle of gpu-n017 taken 2026-01-31T12:00:00Z. Nothing here is live."]),
        ("live", []),
    ],
)
def test_a_banner_where_the_numbers_are_not_of_here_and_now(mode: str, said: list[str]) -> None:
    assert [e.text for e in page(report(mode=mode)).with_class("banner")] == said


def test_memory_of_a_node_as_far_as_it_is_known() -> None:
    def words(**known: object) -> str:
        shown = page(report(machine=machine(node(0, 0, **known))))
        return shown.with_class("node")[0].with_class("quiet")[0].text

    assert words() == "100 GiB: 50 used, 20 cache, 30 free"
    assert words(memory_reclaimable_bytes=None) == "100 GiB: 70 used, 30 free"
    assert words(memory_free_bytes=None) == "100 GiB"
    small = {"memory_bytes": 504 << 20, "memory_free_bytes": 440 << 20, "memory_reclaimable_bytes": 24 << 20}
    assert words(**small) == "504 MiB: 40 used, 24 cache, 440 free"
    assert words(memory_bytes=None) == "memory unknown"
    assert words(memory_bytes=0) == "no memory"


def test_memory_bar_of_a_node() -> None:
    bar = page(report()).with_class("memory-bar")[0]
    assert [(e.attributes.get("x"), e.attributes["width"]) for e in bar.every("rect")] == [
        (None, "50%"),
        ("50%", "20%"),
    ]


def test_a_nic_is_that_behind_the_same_switch_never_a_gpu_or_a_drive() -> None:
    devices = [
        {"name": "nvme0", "class": "nvme", "numa_node": 0},
        {"name": "eth0", "class": "nic", "numa_node": 0},
        {"name": "mlx5_0", "class": "rdma", "numa_node": 0},
        {"name": "mlx5_1", "class": "rdma", "numa_node": 0},
    ]
    paths = [
        {"a": "GPU-0", "b": "GPU-1", "path": "PIX"},
        {"a": "GPU-0", "b": "nvme0", "path": "PIX"},
        {"a": "eth0", "b": "GPU-0", "path": "PIX"},
        {"a": "mlx5_0", "b": "GPU-0", "path": "PIX"},
        {"a": "GPU-0", "b": "mlx5_1", "path": "PXB"},
    ]
    shown = page(report(machine=machine(node(0, 0), node(1, 1), devices=devices, paths=paths)))
    assert [e.text for e in shown.with_class("chip")] == ["GPU 0freemlx5_0", "GPU 1free"]
    assert "also nvme0, eth0, mlx5_1" in [e.text for e in shown.with_class("quiet")]


def test_a_gpu_affine_to_nodes_without_a_column_is_not_put_on_node_0() -> None:
    shown = page(report(gpus=[gpu(0, 7)]))
    assert [e.text for e in shown.with_class("not-placed")] == ["Not placed (affinity unknown): GPU 0free"]


def test_helpers_and_observers_are_told_in_words() -> None:
    helper = {"pid": 40102, "comm": "vllm serve", "home": [0, 1], "cpu_seconds": {"1": 1, "0": 3}}
    shown = page(
        report(
            workload("a", rank(0, [0]), helpers=[helper]),
            observers=[{"pid": 1, "comm": "nv-hostengine", "gpus": []}, {"pid": 2, "comm": "nv-hostengine"}],
        )
    )
    assert [e.text for e in shown.with_class("helper")] == [
        "helper vllm serve (pid 40102): CPU time 75 % node 0, 25 % node 1. Holds no GPU, gets no verdict."
    ]
    assert [e.text for e in shown.with_class("observers")] == [
        "Observers (hold a device open, compute nothing): nv-hostengine."
    ]


def test_findings_of_one_code_are_one_entry_and_each_remedy_is_told_once() -> None:
    shown = page(stored("nps4"))
    (notes, _) = shown.with_class("notes")
    assert [e.text for e in notes.every("summary")] == [
        "memory_remote since 11:21, and 2 more like it: evidence",
        "cpu_remote since 11:21, and 2 more like it: evidence",
    ]
    assert [e.text for e in notes.every("pre")] == ["vllm serve … --numa-bind --numa-bind-nodes 3 3 1 1 7 7 5 5"]
    assert [e.text for e in notes.with_class("warning")[0].every("li")] == [
        "GPU 1 keeps 15.2 GiB of its 38.0 GiB of memory (40 %) on the other socket.",
        "GPU 6 keeps 11.4 GiB of its 38.0 GiB of memory (30 %) on the other socket.",
    ]


def test_a_finding_shows_its_sentence_unchanged_its_limit_and_its_evidence() -> None:
    odd = finding("memory_remote", "a", sentence="As <it> was said.", value=None, window_seconds=None)
    shown = page(report(workload("a", swapped_memory()), findings=[odd]))
    (said,) = shown.with_class("finding")
    assert said.every("p")[0].text == "▲Warning: As <it> was said."
    assert said.every("p")[1].text == "Value unknown, limit 0.2, over an unknown time; confidence high."
    assert [(e.tag, e.text) for e in said.every("dt", "dd")] == [("dt", "/proc/42/numa_maps"), ("dd", "N0=7")]


def test_info_findings_are_quiet() -> None:
    shown = page(report(findings=[finding("numa_balancing_on", level="info")]))
    assert shown.with_class("warning") == shown.with_class("triangle") == []


def test_memory_where_the_home_has_none_is_at_home() -> None:
    bare = node(0, 0, memory_bytes=0, distances={"0": 10, "1": 12, "2": 32})
    moved = rank(0, [0], mapped={"anon": {"1": GIB}}, cpu_seconds={"0": 1})
    shown = page(report(workload("a", moved), machine=machine(bare, node(1, 0), node(2, 1))))
    assert [e.attributes["class"] for e in shown.with_class("rows")[0].every("rect")] == ["local", "local"]
