"""Observers: processes that hold devices open but compute nothing. Listed, never a rank.

They are told by their command name (comm, which the kernel cuts to 15 bytes: TASK_COMM_LEN in linux/sched.h). A
workload that takes such a name hides itself only.
"""

from collections.abc import Iterable

from numa_exporter.model.processes import GpuEvidence, Process

_COMM = 15
_CONTEXTS = ("nvml", "kfd", "drm")


def _cut(*names: str) -> frozenset[str]:
    return frozenset(name[:_COMM] for name in names)


_ALWAYS = _cut(
    # NVIDIA's daemons, the MPS server and its control daemon
    "nv-hostengine", "dcgm-exporter", "nvidia-persistenced", "nv-fabricmanager", "nvidia-imex", "nvidia-smi",
    "nvidia-cuda-mps-server", "nvidia-cuda-mps-control", "nvidia-vgpud", "nvidia-vgpu-mgr",
    # device plugins and what the GPU operators run beside them
    "nvidia-device-plugin", "k8s-device-plugin", "intel_gpu_plugin", "habana-device-plugin", "gpu-kubelet-plugin",
    "gpu-feature-discovery", "config-manager", "nvidia-mig-manager", "mps-control-daemon", "node-feature-discovery",
    # monitors
    "nvidia_gpu_exporter", "nvtop", "nvitop", "gpustat", "amd-smi", "rocm-smi", "rdcd", "gpuagent", "xpumd", "xpu-smi",
    "intel_gpu_top", "hl-smi", "node_exporter", "telegraf", "datadog-agent", "netdata", "numa-exporter",
)  # fmt: skip
_DISPLAY_SERVERS = _cut("Xorg", "Xwayland", "X", "gnome-shell", "kwin_wayland", "kwin_x11", "weston", "sway")


def is_observer(process: Process, evidence: Iterable[GpuEvidence]) -> bool:
    """Whether the process is ourselves, a known daemon, or one that only draws.

    A display server without the driver's lists is told by its name; with them, by being on the graphics list alone.
    """
    if process.own or process.comm[:_COMM] in _ALWAYS:
        return True
    contexts = [found.kind for found in evidence if found.evidence in _CONTEXTS]
    if not contexts:
        return process.comm[:_COMM] in _DISPLAY_SERVERS
    return all(kind == "graphics" for kind in contexts)
