"""Contrast by WCAG 2: text at least 4.5, marks at least 3, on every ground they stand on, in both themes."""

import pytest

from numa_exporter.page.colours import PALETTE

THEMES = {
    "light": {colour.name: colour.light for colour in PALETTE},
    "dark": {colour.name: colour.dark for colour in PALETTE},
}
TEXT = [
    ("ink", "ground"),
    ("ink", "home"),
    ("ink", "command"),
    ("muted", "ground"),
    ("muted", "home"),
    ("muted", "command"),
    ("loud", "ground"),
    ("link", "ground"),
    ("on-loud", "loud"),
    ("ground", "ink"),
]
MARKS = [("local", "ground"), ("local", "home"), ("loud", "home"), ("edge", "ground"), ("edge", "home")]


def luminance(colour: str) -> float:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_black_on_white_is_21() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("least", "pairs"), [(4.5, TEXT), (3.0, MARKS), (1.5, [("loud", "local")])])
def test_contrast(theme: str, least: float, pairs: list[tuple[str, str]]) -> None:
    colours = THEMES[theme]
    low = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert {pair: value for pair, value in low.items() if value < least} == {}
