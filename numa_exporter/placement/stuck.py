"""What NVML last said, for as long as it may be believed: it hangs on a lost GPU, and its GPUs keep computing."""

from collections.abc import Mapping
from dataclasses import replace

from numa_exporter.model.gpus import Gpus
from numa_exporter.model.ids import ProcessKey
from numa_exporter.model.placement import LastHolding, Ledger
from numa_exporter.model.processes import Process
from numa_exporter.model.sample import Sample

BELIEVED_SECONDS = 600.0


def known_gpus(sample: Sample, ledger: Ledger) -> Gpus | None:
    """The GPUs of the sample; where it has none, the last ones for ten minutes, their process lists unknown."""
    if sample.gpus is not None:
        return sample.gpus
    if ledger.gpus is None or sample.taken_at - ledger.gpus_at > BELIEVED_SECONDS:
        return None
    silent = tuple(replace(gpu, contexts=None, pcie_rx_bytes=None, pcie_tx_bytes=None) for gpu in ledger.gpus.gpus)
    return replace(ledger.gpus, gpus=silent)


def holdings(sample: Sample, ledger: Ledger) -> Mapping[ProcessKey, tuple[LastHolding, ...]]:
    """NVML's contexts of every living process: those listed now, and where a GPU's lists are silent the last ones.

    A process that ended takes its holdings with it: (pid, start ticks) is never reused.
    """
    if sample.processes is None:
        return ledger.holdings
    gpus = sample.gpus.gpus if sample.gpus else ()
    listed = frozenset(gpu.uuid for gpu in gpus if gpu.contexts is not None)
    listed_at = sample.gpus.contexts_at if sample.gpus and sample.gpus.contexts_at is not None else sample.taken_at
    found: dict[ProcessKey, tuple[LastHolding, ...]] = {}
    for process in sample.processes.processes:
        now = _listed(process, listed_at)
        named = listed | {seen.evidence.uuid for seen in now}
        before = (
            seen
            for seen in ledger.holdings.get(process.key, ())
            if seen.evidence.uuid not in named and sample.taken_at - seen.seen_at <= BELIEVED_SECONDS
        )
        both = (*now, *before)
        if both:
            found[process.key] = both
    return found


def _listed(process: Process, listed_at: float) -> tuple[LastHolding, ...]:
    return tuple(
        LastHolding(evidence=found, seen_at=listed_at) for found in process.evidence if found.evidence == "nvml"
    )
