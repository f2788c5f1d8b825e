from numa_exporter.page.document import Document
from numa_exporter.page.ledger import Entry, Ledger, build
from numa_exporter.page.spoken import sentence
from tests.page.reports import finding, gpu, rank, report, stored, swapped_memory, workload

EXCUSE = {"reason": "both sockets on purpose", "until": "2026-03-31"}


def ledger(document: dict[str, object]) -> Ledger:
    return build(Document.read(document))


def only(document: dict[str, object]) -> Entry:
    (entry,) = ledger(document).entries
    return entry


def test_worst_first_then_warnings_then_doubt_then_suppressed_then_by_name() -> None:
    half = swapped_memory() | {"misalignment": {"memory": 0.5}}
    found = ledger(
        report(
            workload("b-fine", rank(0, [0])),
            workload("a-fine", rank(0, [0])),
            workload("excused", swapped_memory()),
            workload("young", rank(0, [0], not_judged={"*": "needs 5 min"})),
            workload("off-home", rank(0, [0])),
            workload("half", half),
            workload("worst", swapped_memory()),
            findings=[
                finding("cpuset_off_home", "off-home"),
                finding("memory_remote", "excused", suppressed=EXCUSE),
            ],
        )
    )
    order = [entry.name.removeprefix("serving/") for entry in found.entries]
    assert order == ["worst", "half", "off-home", "young", "excused", "a-fine", "b-fine"]


def test_ranks_are_in_pci_order() -> None:
    late, early = gpu(0, 0, pci_bus_id="00000000:9B:00.0"), gpu(1, 1, pci_bus_id="00000000:1B:00.0")
    entry = only(report(workload("a", rank(0, [0]), rank(1, [1])), gpus=[late, early]))
    assert [row.name for row in entry.rows] == ["GPU 1", "GPU 0"]


def test_a_suppressed_verdict_is_no_verdict_but_a_second_one_stands() -> None:
    both = swapped_memory() | {"misaligned": {"memory": True, "cpu_time": True}}
    excused = finding("memory_remote", "a", suppressed=EXCUSE)
    (row,) = only(report(workload("a", both), findings=[excused])).rows
    assert row.excused and not row.against
    (row,) = only(report(workload("a", both), findings=[excused, finding("cpu_remote", "a")])).rows
    assert not row.excused
    assert [lane.dimension.key for lane in row.against] == ["cpu_time"]


def test_a_verdict_told_under_another_code_is_suppressed_with_it() -> None:
    swapped = finding("rank_swapped", "a", suppressed=EXCUSE)
    (row,) = only(report(workload("a", swapped_memory()), findings=[swapped])).rows
    assert row.excused


def test_two_containers_of_a_pod_are_told_apart() -> None:
    found = ledger(
        report(
            workload("a", rank(0, [0]), container="engine"),
            workload("a", rank(1, [1]), container="router"),
            findings=[finding("cpuset_off_home", "a")],
        )
    )
    assert {entry.name for entry in found.entries} == {"serving/a/engine", "serving/a/router"}
    assert {entry.anchor for entry in found.entries} == {"w-serving:a:engine", "w-serving:a:router"}
    assert [len(entry.findings) for entry in sorted(found.entries, key=lambda e: e.name)] == [1, 0]


def test_a_finding_about_a_workload_that_has_gone_is_kept() -> None:
    found = ledger(report(workload("a", rank(0, [0])), findings=[finding("memory_remote", "gone")]))
    assert [f.code for f in found.about_machine] == ["memory_remote"]


def test_names_of_gpus() -> None:
    whole = rank(0, [0], gpus=["GPU-0", "GPU-1"])
    assert only(report(workload("a", whole))).rows[0].name == "GPU 0-1"
    unnumbered = report(workload("a", rank(0, [0])), gpus=[gpu(0, 0, index=None)])
    assert only(unnumbered).rows[0].name == "GPU 10:00.0"
    lost = report(workload("a", rank(0, [0], gpus=["GPU-5a1e4c02-9d3f"])))
    assert only(lost).rows[0].name == "GPU 5a1e4c02"


def test_more_than_sixteen_ranks_fold_and_one_node_folds() -> None:
    assert not ledger(report(workload("a", *[rank(0, [0])] * 16))).folds
    assert ledger(report(workload("a", *[rank(0, [0])] * 17))).folds
    assert ledger(stored("single-node")).folds


def test_a_missing_ratio_has_a_reason() -> None:
    def reason(home: list[int]) -> str | None:
        return only(report(workload("a", rank(0, home, misalignment={}, misaligned={})))).rows[0].doubt

    assert reason([0, 1]) == "its home covers every socket"
    assert reason([0]) == "no reading"
    assert reason([]) == "home unknown"


def test_a_row_is_spoken_as_one_sentence() -> None:
    (row,) = [row for row in ledger(stored("two-socket")).rows if row.name == "GPU 6"]
    assert sentence(row).replace("\u00a0", " ") == (
        "GPU 6, home node 1. CPU time: 92 % on node 1, 8 % on node 0. "
        "memory: 50 % on node 0, 50 % on node 1; against the grain. "
        "host buffers: 80 % on node 0, 20 % on node 1; against the grain."
    )


def test_a_row_not_judged_is_spoken_with_its_reason() -> None:
    unread = rank(0, [], mapped={}, cpu_seconds={}, misalignment={}, not_judged={"*": "the GPU's affinity is unknown"})
    (row,) = only(report(workload("a", unread))).rows
    assert sentence(row).startswith("GPU 0, home unknown. CPU time: nothing seen; not judged: the GPU's affinity is")
