"""Builds the NVML shim and writes the file that drives it; machine.c documents the file."""

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).resolve().parent


def build(folder: Path, without: Iterable[str] = ()) -> Path:
    """Path of a libnvidia-ml.so.1 in `folder` that lacks the functions in `without`, as an old driver's does."""
    library = folder / "libnvidia-ml.so.1"
    exports = folder / "exports.map"
    # an exact name beats a pattern in a version script
    withheld = "".join(f"{name}; " for name in without)
    exports.write_text(f"{{ global: nvml*; local: {withheld}*; }};\n")
    options = ["-std=c17", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    linker = [f"-Wl,--version-script={exports}", "-Wl,-soname,libnvidia-ml.so.1"]
    sources = [str(SOURCES / "nvml_shim.c"), str(SOURCES / "machine.c")]
    subprocess.run(["gcc", *options, *linker, "-o", str(library), *sources], check=True)
    return library


def record(kind: str, **fields: str | int | None) -> str:
    """One line of the shim's file; a field that is None is left out."""
    return ";".join([kind, *(f"{key}={value}" for key, value in fields.items() if value is not None)])


@dataclass(frozen=True, slots=True)
class NvmlShim:
    """A built shim with its file and its log of calls; give `environment` to the process that loads it."""

    library: Path
    file: Path
    log: Path

    @property
    def environment(self) -> dict[str, str]:
        return {
            "LD_LIBRARY_PATH": str(self.library.parent),
            "NVML_SHIM_FILE": str(self.file),
            "NVML_SHIM_LOG": str(self.log),
        }

    def write(self, *records: str) -> None:
        """Replaces the machine in one step: a call sees the old one or the new one, never a half."""
        new = self.file.with_suffix(".new")
        new.write_text("".join(f"{line}\n" for line in records))
        os.replace(new, self.file)

    def open_to_all(self) -> None:
        """So that a process of an ordinary user can load the library, read the file and write the log."""
        for folder in (self.library.parent, self.file.parent):
            for each in (folder, *folder.parents):
                if each.stat().st_uid == os.geteuid() and not each.is_mount() and each != each.parent:
                    each.chmod(each.stat().st_mode | 0o055)
        self.log.touch()
        self.log.chmod(0o666)

    def calls(self) -> list[str]:
        """The functions that were called so far, in order."""
        return self.log.read_text().split() if self.log.exists() else []
