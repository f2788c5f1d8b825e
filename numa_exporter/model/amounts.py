"""One rule for amounts of memory and for numbers of things, wherever a person reads them."""

UNITS = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def size(count: float, space: str = " ") -> str:
    """Bytes in the largest unit of which there is one: 3.1 GiB, 536 MiB. From 100 on without a decimal."""
    for unit, scale in UNITS:
        if count >= scale - scale / 2048:  # 1023.5 of the smaller unit would be told as 1024
            amount = count / scale
            return f"{amount:.1f}{space}{unit}" if amount < 99.95 else f"{amount:.0f}{space}{unit}"
    return f"{count:.0f}{space}B"


def plural(count: int, noun: str, space: str = " ") -> str:
    """ "1 rank", "2 ranks"."""
    return f"{count}{space}{noun}" + ("" if count == 1 else "s")
