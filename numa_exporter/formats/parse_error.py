"""The one error of this floor: a kernel file that does not say what its grammar promises."""


class ParseError(ValueError):
    """A broken line, with all that a kernel-format bug report needs.

    ``line_number`` counts from 1; 0 means that the file as a whole is wrong (empty, truncated).
    """

    def __init__(self, path: str, line_number: int, line: bytes, expected: str) -> None:
        self.path = path
        self.line_number = line_number
        self.line = line[:200]
        self.expected = expected
        shown = self.line.decode("utf-8", "backslashreplace")
        super().__init__(f"{path}:{line_number}: expected {expected}, found {shown!r}")
