"""NVML, the only owner of pynvml: one open handle, released on request, re-opened after a lost GPU."""

from numa_exporter.model.recording import Json
from numa_exporter.sources.host import HostError


class Nvml:
    """Questions to NVML by name. Opens the library at the first question."""

    def ask(self, function: str, *arguments: int | str) -> Json:
        raise HostError("absent", f"nvml:{function}", "not built yet")
