import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import maps, numa_maps
from numa_exporter.formats.backing import MemoryDevices
from numa_exporter.formats.mempolicy import Policy
from numa_exporter.formats.numa_maps import NumaMaps, NumaMapsLine
from numa_exporter.formats.parse_error import ParseError

MIB = 1 << 20
NAME_BYTES = st.binary(min_size=1, max_size=20).filter(lambda name: b"\\" not in name)
POLICIES = ["default", "local", "bind=static|balancing:0-1", "prefer (many)=static:0", "weighted interleave:0-1,3"]


def one(line: bytes) -> NumaMapsLine:
    return numa_maps.parse_line(line, "/proc/1/numa_maps", 1)


def total(groups: Iterable[Mapping[int, int]]) -> Mapping[int, int]:
    found: Counter[int] = Counter()
    for nodes in groups:
        found.update(nodes)
    return dict(found)


@pytest.mark.parametrize(
    ("line", "policy", "file"),
    [
        (b"7fe1be800000 default", "default", None),
        (b"7fe1be800000 default ", "default", None),
        (b"1000 prefer (many)=static:0 anon=7 N0=7 kernelpagesize_kB=4", "prefer (many)=static:0", None),
        (b"1000 weighted interleave:0-1 file=/a N0=1 kernelpagesize_kB=4", "weighted interleave:0-1", b"/a"),
        (b"1000 interleave=0-7 file=/h/x huge dirty=4 N0=1", "interleave=0-7", b"/h/x"),
        (b"1000 default file=/my\\040\\075x\\011\\012y N0=1", "default", b"/my =x\t\ny"),
        (b"1000 default file=/back\\134slash\\ N0=1", "default", b"/back\\134slash\\"),
        (b"1000 default file=/\xff\xfe N0=1", "default", b"/\xff\xfe"),
        (b"1000 default file=/N0\\0759 N0=1", "default", b"/N0=9"),
        (b"1000 default file=socket:[105449] mapped=256 N0=256", "default", b"socket:[105449]"),
        (b"1000 nearest first:3 heap N3=1", "nearest first:3", None),
        (b"1000 default N0=1 zswapped=3 kernelpagesize_kB=4", "default", None),
    ],
)
def test_policy_and_name(line: bytes, policy: str, file: bytes | None) -> None:
    parsed = one(line)
    assert (parsed.policy_word, parsed.file) == (policy, file)


def test_all_fields() -> None:
    line = (
        b"7ff4 bind:1 file=/anon_hugepage\\040(deleted) huge anon=5 dirty=4 mapmax=3 N0=2 N1=3 kernelpagesize_kB=2048"
    )
    assert one(line) == NumaMapsLine(
        start=0x7FF4,
        policy=Policy(mode="bind", nodes=frozenset({1})),
        policy_word="bind:1",
        file=b"/anon_hugepage (deleted)",
        heap=False,
        stack=False,
        huge=True,
        pages={0: 2, 1: 3},
        page_bytes=2 * MIB,
        anon=5,
        dirty=4,
        mapmax=3,
    )
    assert one(line).deleted


def test_heap_stack_and_thread_stacks() -> None:
    assert one(b"1000 default heap anon=3 N0=3").heap
    assert one(b"1000 default stack anon=3 N0=3").stack
    assert one(b"1000 default stack:4242 anon=3 N0=3").stack
    assert not one(b"1000 default file=/srv/heap N0=3").heap
    assert not one(b"1000 default file=/srv/(deleted) N0=3").deleted


def test_page_sizes_that_a_kernel_does_not_print() -> None:
    assert one(b"1000 default N0=1").page_bytes == 4096
    assert one(b"1000 default huge N0=1").page_bytes is None
    sized = numa_maps.parse_line(b"1000 default huge N0=1", "n", 1, base_page_bytes=65536, huge_page_bytes=16 * MIB)
    assert sized.page_bytes == 16 * MIB


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"7fe1be800000",
        b"7fe1be800000 ",
        b"7fg default",
        b"1000 default file=",
        b"1000 default file=/a b N0=1",
        b"1000 default anon=x N0=1",
        b"1000 default N0=1 N1",
        b"1000 default N0=-1",
        b"1000 bind:x N0=1",
        b"1000 :0 N0=1",
    ],
)
def test_broken_lines_are_named(line: bytes) -> None:
    with pytest.raises(ParseError) as caught:
        numa_maps.parse_line(line, "/proc/1/numa_maps", 9)
    assert (caught.value.path, caught.value.line_number, caught.value.line) == ("/proc/1/numa_maps", 9, line)


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    name = draw(st.none() | NAME_BYTES)
    pages = draw(st.dictionaries(st.integers(min_value=0, max_value=70), st.integers(min_value=1, max_value=1 << 40)))
    huge = draw(st.booleans())
    text = b"%x %b" % (
        draw(st.integers(min_value=1 << 28, max_value=1 << 47)),
        draw(st.sampled_from(POLICIES)).encode(),
    )
    if name is not None:
        for raw, escape in ((b" ", b"\\040"), (b"\t", b"\\011"), (b"\n", b"\\012"), (b"=", b"\\075")):
            name = name.replace(raw, escape)
        text += b" file=/" + name
    text += b" huge" if huge else b""
    text += b"".join(b" N%d=%d" % pair for pair in sorted(pages.items()))
    return text + (b" kernelpagesize_kB=%d" % (2048 if huge else 4) if pages else b"")


@given(st.lists(lines(), max_size=30), st.integers(min_value=1, max_value=100))
def test_the_fold_is_the_sum_of_the_lines(texts: list[bytes], cut: int) -> None:
    data = b"".join(text + b"\n" for text in texts)
    folded = numa_maps.fold((data[at : at + cut] for at in range(0, len(data), cut)), "numa_maps")
    parsed = [one(text) for text in texts]
    sizes = [{node: pages * (line.page_bytes or 0) for node, pages in line.pages.items()} for line in parsed]
    assert folded.vmas == len(texts)
    assert total(folded.by_backing.values()) == total(sizes)
    assert {policy: total([nodes]) for policy, nodes in folded.by_policy.items()} == {
        word: total(size for line, size in zip(parsed, sizes, strict=True) if line.policy_word == word)
        for word in {line.policy_word for line in parsed if line.pages}
    }


def test_fold_of_nothing() -> None:
    assert numa_maps.fold([], "numa_maps") == NumaMaps()
    assert numa_maps.fold([b""], "numa_maps") == NumaMaps()


def test_a_mixture_of_address_widths_in_any_order() -> None:
    text = b"7f2a53800000 default N0=1\n00400000 local file=/a N0=2\n7f2a53900000 default N0=3\n"
    assert numa_maps.fold([text], "numa_maps").by_policy == {"default": {0: 4 * 4096}, "local": {0: 2 * 4096}}


def test_named_shared_memory_has_the_identity_of_its_file() -> None:
    segments = maps.files(
        b"1000-2000 rw-s 00000000 00:01 5                          /SYSV00000000 (deleted)\n"
        b"3000-4000 rw-s 00000000 00:01 6                          /SYSV00000000 (deleted)\n"
        b"5000-6000 rw-s 00000000 00:01 5                          /SYSV00000000 (deleted)\n"
        b"7000-8000 rw-s 00000000 00:1a 9                          /scratch/queue\n"
    )
    text = (
        b"1000 default file=/SYSV00000000\\040(deleted) dirty=1 N0=1 kernelpagesize_kB=4\n"
        b"3000 default file=/SYSV00000000\\040(deleted) dirty=1 N0=1 kernelpagesize_kB=4\n"
        b"5000 default file=/SYSV00000000\\040(deleted) dirty=1 N0=1 kernelpagesize_kB=4\n"
        b"7000 default file=/scratch/queue dirty=2 N1=2 kernelpagesize_kB=4\n"
        b"9000 default file=/memfd:x\\040(deleted) dirty=4 N1=4 kernelpagesize_kB=4\n"
    )
    devices = MemoryDevices(tmpfs=frozenset({(0, 26)}))
    folded = numa_maps.fold([text], "numa_maps", files=segments, devices=devices)
    assert folded.by_backing == {"shmem": {0: 3 * 4096, 1: 6 * 4096}}
    assert folded.by_segment == {
        "0:1:5": {0: 2 * 4096},
        "0:1:6": {0: 4096},
        "0:26:9": {1: 2 * 4096},
        "/memfd:x (deleted)": {1: 4 * 4096},
    }


@pytest.mark.parametrize(
    ("line", "huge_page_bytes"),
    [
        (b"7f0000000001 default anon=1 N0=x kernelpagesize_kB=4", None),
        (b"7f0000000001 default anon=1 N0=1 kernelpagesize_kB=", None),
        (b"7f0000000001 default file=/a b N0=1", None),
        (b"7f0000000001 default huge N0=1", None),
        (b"7f0000000001 ", None),
        (b"7f0000000001", None),
    ],
)
def test_the_fold_names_the_broken_line_behind_many_good_ones(line: bytes, huge_page_bytes: int | None) -> None:
    good = [b"7f%010x default anon=%d N0=%d kernelpagesize_kB=4\n" % (at, at, at) for at in range(5000)]
    blocks = [*good, line + b"\n", *good]
    with pytest.raises(ParseError) as caught:
        numa_maps.fold(blocks, "/proc/1/numa_maps", huge_page_bytes=huge_page_bytes)
    assert (caught.value.line_number, caught.value.line) == (5001, line)


def test_huge_pages_of_an_old_kernel_have_the_default_size() -> None:
    text = b"20000000 interleave=0-7 file=/h/x huge dirty=4 N0=1 N1=3\n30000000 default heap N0=2\n"
    folded = numa_maps.fold([text], "numa_maps", base_page_bytes=65536, huge_page_bytes=16 * MIB)
    assert folded.by_backing == {"hugetlb": {0: 16 * MIB, 1: 48 * MIB}, "anon": {0: 131072}}


def test_cuda_host_buffers_are_told_apart(shared_data: Path) -> None:
    data = (shared_data / "numa_maps/cuda-process-pinned-host.txt").read_bytes()
    folded = numa_maps.fold([data], "numa_maps")
    assert folded.by_backing == {"driver": {0: (12288 + 512 + 512) * 4096}, "shmem_anon": {0: 1024 * MIB}}


def test_every_collected_file(shared_data: Path) -> None:
    paths = sorted((shared_data / "numa_maps").glob("*.expect.json"))
    assert paths
    for path in paths:
        expect = json.loads(path.read_text())
        data = path.with_name(path.name.replace(".expect.json", ".txt")).read_bytes()
        parsed = [
            numa_maps.parse_line(line, path.name, number, base_page_bytes=1024 * expect["default_page_kB_if_missing"])
            for number, line in enumerate(data.splitlines(), 1)
        ]
        sized = [line for line in parsed if line.page_bytes is not None]
        huge = [line for line in sized if line.huge]
        assert keyed(sizes(sized)) == expect["bytes_per_node"], path
        assert keyed(sizes(huge)) == expect["hugetlb_bytes_per_node"], path
        unsized = total(line.pages for line in parsed if line.page_bytes is None)
        assert keyed(unsized) == expect["unsized_huge_pages_per_node"], path
        assert Counter(line.policy_word for line in parsed) == expect["policies"], path
        assert sum(line.anon is not None for line in parsed) == expect["anon_lines"], path
        assert sum(line.file is not None for line in parsed) == expect["file_lines"], path
        assert sum(line.heap for line in parsed) == expect["heap"], path
        assert sum(line.stack for line in parsed) == expect["stack"], path
        assert sum(line.huge for line in parsed) == expect["huge_lines"], path
        folded = numa_maps.fold([data], path.name, huge_page_bytes=0)
        sized_bytes = {node: size for node, size in total(folded.by_backing.values()).items() if size}
        assert keyed(sized_bytes) == expect["bytes_per_node"], path
        assert folded.vmas == len(parsed), path


def test_every_region_that_move_pages_saw(shared_data: Path) -> None:
    seen = 0
    for path in sorted((shared_data / "numa_maps").glob("vm-*.expect.json")):
        data = path.with_name(path.name.replace(".expect.json", ".txt")).read_bytes()
        parsed = {line.start: line for line in map(one, data.splitlines())}
        for region in json.loads(path.read_text())["regions_by_move_pages"]:
            line = parsed.get(int(region["addr"], 16))
            if line is not None and line.page_bytes == region["page_bytes"]:
                assert keyed(line.pages) == region["pages_per_node"], region["name"]
                seen += 1
    assert seen > 10


def sizes(parsed: list[NumaMapsLine]) -> Mapping[int, int]:
    return total({node: pages * (line.page_bytes or 0) for node, pages in line.pages.items()} for line in parsed)


def keyed(nodes: Mapping[int, int]) -> dict[str, int]:
    return {str(node): count for node, count in nodes.items()}
