"""Which machine, which boot, which kernel: /proc/sys/kernel/random/boot_id and osrelease."""

from numa_exporter.model.sample import HostFacts
from numa_exporter.sources.host import Host, HostError
from numa_exporter.sources.roots import BOOT_ID


def host_facts(host: Host) -> HostFacts:
    """Facts that do not change while the machine runs; what cannot be read is None."""
    return HostFacts(
        nodename=host.nodename,
        mode=host.mode,
        boot_id=_word(host, BOOT_ID),
        kernel=_word(host, "/proc/sys/kernel/osrelease"),
    )


def _word(host: Host, path: str) -> str | None:
    try:
        return host.read(path).decode("utf-8", "replace").strip() or None
    except HostError:
        return None
