"""What a remedy may bring: never a promise. Placement matters to what is copied to the GPU."""

from numa_exporter.findings import words
from numa_exporter.findings.scene import Scene
from numa_exporter.model.placement import Rank


def effect(scene: Scene, rank: Rank) -> str:
    """From the bytes that its GPUs received over PCIe, where the driver counts them."""
    machine = scene.machine
    if any((gpu := machine.gpu(uuid)) and gpu.gpu.c2c for uuid in rank.gpus):
        return "Effect unknown: its GPU is attached by C2C, which is not counted."
    rates = [scene.received(uuid) for uuid in rank.gpus]
    known = [rate for rate in rates if rate is not None]
    if not rates or len(known) < len(rates):
        return "Effect unknown: bytes to the GPU over PCIe are not counted."
    flow = f"{words.size(sum(known))}/s over PCIe in the last {words.span(scene.window)}"
    if sum(known) < scene.limits.small_flow * len(known):
        return f"Effect unlikely: {words.gpus(machine, rank.gpus)} received only {flow}."
    return f"{words.gpus(machine, rank.gpus)} received {flow}: measure before and after."
