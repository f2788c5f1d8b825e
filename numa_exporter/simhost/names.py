"""Names that a real machine would draw at random: the same for the same seed and words."""

import hashlib

_SAFE = "bcdfghjklmnpqrstvwxz2456789"
"""Kubernetes' alphabet of generated names (apimachinery, util/rand)."""


class Names:
    """Draws for one machine. ``words`` say what the name is for."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def digest(self, *words: object) -> str:
        """64 hexadecimal digits."""
        return hashlib.sha256(repr((self._seed, words)).encode()).hexdigest()

    def uuid(self, *words: object) -> str:
        text = self.digest("uuid", *words)
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:32]))

    def suffix(self, length: int, *words: object) -> str:
        number = int(self.digest("suffix", *words), 16)
        letters = []
        for _ in range(length):
            number, letter = divmod(number, len(_SAFE))
            letters.append(_SAFE[letter])
        return "".join(letters)
