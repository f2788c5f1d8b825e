"""Addresses, names and the components' own configuration files."""

from dataclasses import dataclass
from pathlib import Path

NODE_NAME = "e2e-node"
NODE_ADDRESS = "192.0.2.10"  # RFC 5737: documentation addresses
GATEWAY = "192.0.2.1"
POD_RANGE = "198.51.100.0/24"
SERVICE_RANGE = "203.0.113.0/24"
API_SERVER = f"https://{NODE_ADDRESS}:6443"
ETCD = "http://127.0.0.1:2379"
PROMETHEUS = "127.0.0.1:9090"
TOKEN = "e2e-administrator"  # of a control plane that only its own network namespace can reach
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
KUBELET_CONFIGURATION = Path("/var/lib/kubelet/config.yaml")  # where kubeadm has it
PAUSE_IMAGE = "localhost/pause:e2e"
WORKLOAD_IMAGE = "localhost/workload:e2e"


@dataclass(frozen=True, slots=True)
class Folders:
    """Where one cluster keeps what is its own."""

    scratch: Path

    @property
    def configuration(self) -> Path:
        return self.scratch / "etc"

    @property
    def logs(self) -> Path:
        return self.scratch / "log"

    @property
    def pki(self) -> Path:
        return self.scratch / "pki"

    @property
    def kubeconfig(self) -> Path:
        return self.configuration / "kubeconfig"


def write(folders: Folders, node: Path) -> None:
    """Writes the files, on the node; `node` is the root that holds containerd, runc and the CNI plugins."""
    folders.configuration.mkdir(parents=True)
    KUBELET_CONFIGURATION.parent.mkdir()
    KUBELET_CONFIGURATION.write_text(KUBELET)
    texts = {
        "containerd.toml": CONTAINERD.format(node=node, scratch=folders.scratch),
        "cni/10-pods.conflist": CNI,
        "kubeconfig": KUBECONFIG.format(pki=folders.pki),
        "tokens.csv": f"{TOKEN},administrator,administrator,system:masters\n",
    }
    for name, text in texts.items():
        file = folders.configuration / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)


CONTAINERD = f"""version = 2
root = "{{scratch}}/containerd"
state = "/run/containerd"
[grpc]
address = "{CONTAINERD_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE_IMAGE}"
restrict_oom_score_adj = true  # lowering it takes CAP_SYS_RESOURCE, which CI may lack
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{{node}}/usr/lib/cni"
conf_dir = "{{scratch}}/etc/cni"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
"""

CNI = f"""{{
  "cniVersion": "0.4.0",
  "name": "pods",
  "plugins": [{{
    "type": "ptp",
    "ipam": {{"type": "host-local", "subnet": "{POD_RANGE}", "dataDir": "/run/cni", "routes": [{{"dst": "0.0.0.0/0"}}]}}
  }}]
}}
"""

# Half a CPU reserved keeps one whole CPU in the pool of everybody, and leaves half of it to ask for.
KUBELET = """apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cpuManagerPolicy: static
cpuManagerReconcilePeriod: 1s
topologyManagerPolicy: single-numa-node
kubeReserved: {cpu: 500m}
failSwapOn: false
resolvConf: ""
evictionHard: {memory.available: 1Mi, nodefs.available: 1Mi, imagefs.available: 1Mi}
imageGCHighThresholdPercent: 100
syncFrequency: 2s
"""

KUBECONFIG = f"""apiVersion: v1
kind: Config
clusters: [{{{{name: e2e, cluster: {{{{server: "{API_SERVER}", certificate-authority: "{{pki}}/apiserver.crt"}}}}}}}}]
users: [{{{{name: administrator, user: {{{{token: {TOKEN}}}}}}}}}]
contexts: [{{{{name: e2e, context: {{{{cluster: e2e, user: administrator}}}}}}}}]
current-context: e2e
"""
