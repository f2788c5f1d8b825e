"""Links below another root lead where the host's kernel would follow them, never into our own files."""

import argparse
import os
from pathlib import Path

import pytest

from numa_exporter.cli import flags
from numa_exporter.sources.host import HostError
from numa_exporter.sources.live import LiveHost
from numa_exporter.sources.roots import BOOT_ID, Roots


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A host whose kubelet keeps its folder on a data disk, by an absolute link."""
    kubelet = tmp_path / "root" / "mnt" / "disk" / "kubelet"
    (kubelet / "pod-resources").mkdir(parents=True)
    (kubelet / "cpu_manager_state").write_text("{}")
    (tmp_path / "root" / "var" / "lib").mkdir(parents=True)
    (tmp_path / "root" / "var" / "lib" / "kubelet").symlink_to("/mnt/disk/kubelet")
    return tmp_path / "root"


def test_an_absolute_link_stays_below_the_root(root: Path) -> None:
    host = LiveHost(Roots(rootfs=str(root)))
    assert host.read("/var/lib/kubelet/cpu_manager_state") == b"{}"
    assert b"".join(host.stream("/var/lib/kubelet/cpu_manager_state", 64)) == b"{}"
    assert host.list("/var/lib/kubelet") == ["cpu_manager_state", "pod-resources"]
    assert host.readlink("/var/lib/kubelet") == "/mnt/disk/kubelet"
    assert host.realpath("/var/lib/kubelet") == "/mnt/disk/kubelet"


def test_a_link_out_of_the_root_finds_nothing_of_ours(root: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("ours")
    (root / "leak").symlink_to(secret)
    (root / "up").symlink_to("../" * 40 + str(secret).lstrip("/"))
    host = LiveHost(Roots(rootfs=str(root)))
    for path in ("/leak", "/up"):
        with pytest.raises(HostError) as raised:
            host.read(path)
        assert raised.value.word == "absent"


def test_links_in_a_circle_end(root: Path) -> None:
    (root / "a").symlink_to("/b")
    (root / "b").symlink_to("/a")
    with pytest.raises(OSError, match="Too many levels"):
        Roots(rootfs=str(root)).resolve("/a")


@pytest.mark.parametrize("flag", [[], ["--kubelet.socket", "{root}/var/lib/kubelet/pod-resources/kubelet.sock"]])
def test_the_kubelets_socket_is_found_behind_the_link(
    root: Path, flag: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(flags, "GrpcSocket", lambda path, *_: asked.append(path))
    monkeypatch.setattr(Roots, "foreign", lambda _: False)
    parser = argparse.ArgumentParser()
    flags.add_host(parser)
    words = [word.format(root=root) for word in flag]
    flags.open_host(parser.parse_args(["--path.rootfs", str(root), "--path.procfs", "/proc", *words]))
    assert asked == [os.path.join(root, "mnt/disk/kubelet/pod-resources/kubelet.sock")]


@pytest.mark.parametrize("boot_id", ["pipe", "endless"])
def test_a_boot_id_that_is_none_makes_a_foreign_tree_at_once(root: Path, boot_id: str) -> None:
    """Neither waits for a writer nor reads until the memory is full."""
    file = Path(f"{root}{BOOT_ID}")
    file.parent.mkdir(parents=True)
    if boot_id == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to("/dev/zero")
    assert Roots(rootfs=str(root)).foreign()
