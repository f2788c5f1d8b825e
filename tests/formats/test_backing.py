import pytest

from numa_exporter.formats import backing, mountinfo
from numa_exporter.formats.backing import MemoryDevices, backing_of

DEVICES = MemoryDevices(tmpfs=frozenset({(0, 26)}), hugetlbfs=frozenset({(0, 30), (0, 17)}))


@pytest.mark.parametrize(
    ("name", "device", "expected"),
    [
        (None, (0, 0), "anon"),
        (b"[heap]", (0, 0), "anon"),
        (b"[stack]", (0, 0), "anon"),
        (b"[anon:glibc: malloc]", (0, 0), "anon"),
        (b"/dev/zero", (0, 6), "anon"),
        (b"/dev/zero (deleted)", (0, 1), "shmem_anon"),
        (b"[anon_shmem:pool]", (0, 1), "shmem_anon"),
        (b"/memfd:psm_vllm (deleted)", (0, 1), "shmem"),
        (b"/SYSV00005a5a (deleted)", (0, 1), "shmem"),
        (b"/dev/shm/nccl-x4Jd", (0, 26), "shmem"),
        (b"/anywhere/else", (0, 26), "shmem"),
        (b"/dev/shm/on-disk", (8, 1), "file"),
        (b"/dev/shm/unknown", None, "shmem"),
        (b"/SYSTEM", (8, 1), "file"),
        (b"/mnt/huge/model", (0, 30), "hugetlb"),
        (b"/SYSV00000000 (deleted)", (0, 17), "hugetlb"),
        (b"/anon_hugepage (deleted)", (0, 99), "hugetlb"),
        (b"/dev/nvidia0", (0, 6), "driver"),
        (b"/dev/nvidiactl", (0, 6), "driver"),
        (b"/dev/nvidia-uvm", (0, 6), "driver"),
        (b"/dev/kfd", (0, 6), "driver"),
        (b"/dev/dri/renderD128", (0, 6), "driver"),
        (b"/dev/infiniband/uverbs0", (0, 6), "file"),
        (b"/dev/kfdump", (0, 6), "file"),
        (b"socket:[105449]", (0, 9), "file"),
        (b"anon_inode:[io_uring]", (0, 15), "file"),
        (b"/usr/lib/libcuda.so.1", (8, 1), "file"),
        (b"/srv/data/(deleted)", (8, 1), "file"),
    ],
)
def test_backings(name: bytes | None, device: tuple[int, int] | None, expected: str) -> None:
    assert backing_of(name, device=device, devices=DEVICES) == expected


def test_the_word_huge_is_enough() -> None:
    assert backing_of(b"/memfd:buffers (deleted)", huge=True) == "hugetlb"


def test_memory_devices_come_from_mounts() -> None:
    mounts = mountinfo.parse(
        b"1 0 0:26 / /dev/shm rw - tmpfs shm rw\n2 0 0:30 / /mnt/huge rw - hugetlbfs none rw\n"
        b"3 0 0:6 / /dev rw - devtmpfs udev rw\n4 0 8:1 / / rw - ext4 /dev/sda1 rw\n",
        "mountinfo",
    )
    assert backing.memory_devices(mounts) == MemoryDevices(tmpfs=frozenset({(0, 26)}), hugetlbfs=frozenset({(0, 30)}))
