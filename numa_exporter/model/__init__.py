"""Floor 1: nouns. Frozen, slotted, keyword-only dataclasses; no behaviour that reads anything."""
