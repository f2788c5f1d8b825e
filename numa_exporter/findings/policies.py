"""Memory policies as findings ask about them."""

from numa_exporter.formats import mempolicy
from numa_exporter.formats.mempolicy import Policy
from numa_exporter.formats.parse_error import ParseError

BINDING = ("bind",)
PREFERRING = ("prefer", "prefer (many)")
INTERLEAVING = ("interleave", "weighted interleave")


def policy_of(word: str | None) -> Policy | None:
    """The policy of a rank's leader; None where it is unknown or a kernel to come says it in another way."""
    if word is None:
        return None
    try:
        return mempolicy.parse(word, "numa_maps")
    except ParseError:
        return None
