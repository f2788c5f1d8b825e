"""The cgroups of the lab's workloads are named as the kubelet and containerd name theirs."""

from tests.lab.containers import Container


def test_paths_are_the_kubelets() -> None:
    burstable = Container(pod="trainer")
    uid = burstable.uid.replace("-", "_")
    slices = f"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid}.slice"
    assert burstable.systemd_path() == f"{slices}/cri-containerd-{burstable.id}.scope"
    assert burstable.cgroupfs_path() == f"kubepods/burstable/pod{burstable.uid}/{burstable.id}"
    guaranteed = Container(pod="trainer", qos="guaranteed")
    assert guaranteed.systemd_path() == f"kubepods.slice/kubepods-pod{uid}.slice/cri-containerd-{burstable.id}.scope"
    assert guaranteed.cgroupfs_path() == f"kubepods/pod{burstable.uid}/{burstable.id}"
