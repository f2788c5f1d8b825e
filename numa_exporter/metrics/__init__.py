"""Floor 2: the Report as Prometheus metrics. TABLE is the only list of them."""

from numa_exporter.metrics import agent, finding, gpu, kubelet, machine, rank, workload
from numa_exporter.metrics.row import Row, View

TABLE: tuple[Row, ...] = (
    *machine.ROWS,
    *gpu.ROWS,
    *workload.ROWS,
    *rank.ROWS,
    *kubelet.ROWS,
    *finding.ROWS,
    *agent.ROWS,
)

__all__ = ["TABLE", "Row", "View"]
