"""The colours, by what they stand for. No green: fine is quiet. No red: one loud hue, and it means only "remote with a
verdict". Text reaches a contrast of 4.5, marks 3, on every ground they stand on (tests/page/test_colours.py)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Colour:
    """A CSS custom property in both themes."""

    name: str
    light: str
    dark: str


PALETTE = (
    Colour("ground", "#fcfcfa", "#14171b"),
    Colour("ink", "#171b20", "#e9ebee"),
    Colour("muted", "#555e68", "#a7b0ba"),  # secondary text
    Colour("hairline", "#d3d8dd", "#30363d"),  # carries no meaning
    Colour("edge", "#7d8791", "#7a858f"),  # borders that do
    Colour("home", "#e4eef7", "#1c2b3b"),  # tint of a rank's home
    Colour("local", "#5a86b1", "#5f88b2"),
    Colour("socket", "#cfdce8", "#26394b"),  # same socket; outlined in `local`
    Colour("loud", "#a83200", "#ffa563"),  # remote with a verdict
    Colour("on-loud", "#ffffff", "#14171b"),
    Colour("link", "#0a56a3", "#8cc4ff"),
    Colour("command", "#f0f1ee", "#1e2328"),
)


def properties() -> str:
    """The palette as CSS, dark by the reader's own preference."""
    light = "".join(f"--{colour.name}:{colour.light};" for colour in PALETTE)
    dark = "".join(f"--{colour.name}:{colour.dark};" for colour in PALETTE)
    return f":root{{{light}}}\n@media(prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
