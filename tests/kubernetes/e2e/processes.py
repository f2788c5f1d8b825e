"""The command lines of the node's processes."""

from pathlib import Path

from tests.kubernetes.e2e import settings
from tests.kubernetes.e2e.settings import Folders


def etcd(node: Path, folders: Folders) -> list[str]:
    return [
        f"{node}/usr/bin/etcd",
        f"--data-dir={folders.scratch}/etcd",
        f"--listen-client-urls={settings.ETCD}",
        f"--advertise-client-urls={settings.ETCD}",
        "--listen-peer-urls=http://127.0.0.1:2380",
        "--unsafe-no-fsync",  # it need not outlive the test
    ]


def kube_apiserver(kubernetes: Path, folders: Folders) -> list[str]:
    return [
        f"{kubernetes}/kube-apiserver",
        f"--etcd-servers={settings.ETCD}",
        f"--bind-address={settings.NODE_ADDRESS}",
        f"--advertise-address={settings.NODE_ADDRESS}",
        f"--cert-dir={folders.pki}",  # it makes its own certificate there
        f"--service-cluster-ip-range={settings.SERVICE_RANGE}",
        f"--service-account-issuer={settings.API_SERVER}",
        f"--service-account-key-file={folders.pki}/accounts.pem",
        f"--service-account-signing-key-file={folders.pki}/accounts.pem",
        f"--token-auth-file={folders.configuration}/tokens.csv",
        "--authorization-mode=RBAC",
        "--kubelet-preferred-address-types=InternalIP",
        "--allow-privileged=true",
    ]


def kube_controller_manager(kubernetes: Path, folders: Folders) -> list[str]:
    return [
        f"{kubernetes}/kube-controller-manager",
        f"--kubeconfig={folders.kubeconfig}",
        f"--service-account-private-key-file={folders.pki}/accounts.pem",
        "--leader-elect=false",
    ]


def kube_scheduler(kubernetes: Path, folders: Folders) -> list[str]:
    return [f"{kubernetes}/kube-scheduler", f"--kubeconfig={folders.kubeconfig}", "--leader-elect=false"]


def containerd(node: Path, folders: Folders) -> list[str]:
    return [f"{node}/usr/bin/containerd", f"--config={folders.configuration}/containerd.toml"]


def kubelet(kubernetes: Path, folders: Folders) -> list[str]:
    return [
        f"{kubernetes}/kubelet",
        f"--config={settings.KUBELET_CONFIGURATION}",
        f"--kubeconfig={folders.kubeconfig}",
        f"--hostname-override={settings.NODE_NAME}",
        f"--node-ip={settings.NODE_ADDRESS}",
        "--container-runtime=remote",
        f"--container-runtime-endpoint=unix://{settings.CONTAINERD_SOCKET}",
    ]
