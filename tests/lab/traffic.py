"""Run in the guest: frames from each network card to the others, and whose CPU is told of them."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CARDS = Path("/sys/class/net")
IRQ = Path("/proc/irq")
PAUSE = 0.005


@contextmanager
def traffic(serving_cpu: int) -> Iterator[None]:
    """Some hundred frames a second on every card with a PCI device; all their interrupts go to one CPU."""
    cards = [folder.name for folder in sorted(CARDS.iterdir()) if (folder / "device").exists()]
    stop = threading.Event()
    threads = [threading.Thread(target=_send, args=(card, stop)) for card in cards]
    for card in cards:
        _serve(card, serving_cpu)
        _up(card)
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _serve(card: str, cpu: int) -> None:
    # virtio: the card is below the PCI function, which has the interrupts
    for interrupt in (CARDS / card / "device" / ".." / "msi_irqs").iterdir():
        (IRQ / interrupt.name / "smp_affinity_list").write_text(str(cpu))


def _up(card: str) -> None:
    (CARDS / card / "flags").write_text("0x1103")  # IFF_UP, IFF_BROADCAST, IFF_PROMISC, IFF_MULTICAST


def _send(card: str, stop: threading.Event) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as line:
        line.bind((card, 0))
        frame = b"\xff" * 6 + b"\x02" + bytes(5) + b"\x88\xb5" + bytes(50)  # broadcast, local experimental ethertype
        while not stop.wait(PAUSE):
            line.send(frame)
