"""Where the logical paths lie: --path.rootfs, --path.procfs, --path.sysfs. Known to cli and live hosts only."""

import errno
import os
from dataclasses import dataclass

BOOT_ID = "/proc/sys/kernel/random/boot_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """Absolute host directories for "/", "/proc" and "/sys". ``procfs`` and ``sysfs`` default to below ``rootfs``."""

    rootfs: str = "/"
    procfs: str | None = None
    sysfs: str | None = None

    def below(self, path: str) -> str:
        """The path to open for a logical one."""
        if path.startswith("/proc/") or path == "/proc":
            return (self.procfs or self._joined("/proc")) + path[5:]
        if path.startswith("/sys/") or path == "/sys":
            return (self.sysfs or self._joined("/sys")) + path[4:]
        return self._joined(path)

    def real(self, path: str) -> str:
        """The path to open for a logical one, links followed as the host follows them: below another root the kernel
        would look for an absolute target in ours. OSError where the path leads nowhere."""
        if self.rootfs == "/" or path.split("/", 2)[1] in ("proc", "sys"):
            return self.below(path)
        return self.below(self.resolve(path))

    def entry(self, path: str) -> str:
        """The path itself, which may be a link or not be there; those of its folder are followed as by ``real``."""
        folder, _, name = path.rpartition("/")
        return f"{self.real(folder or '/').rstrip('/')}/{name}"

    def _joined(self, path: str) -> str:
        return path if self.rootfs == "/" else self.rootfs.rstrip("/") + path

    def foreign(self) -> bool:
        """Whether these are another machine's files: their boot_id is absent or not this kernel's, or what was given
        as /sys is no mounted sysfs."""
        own = Roots()
        if self == own:
            return False
        if _text(self.below(BOOT_ID)) != _text(own.below(BOOT_ID)):
            return True
        # A captured /sys beside this kernel's /proc would join our processes to another machine's nodes.
        return self.sysfs is not None and not os.path.ismount(self.sysfs) and not _same(self.sysfs, "/sys")

    def resolve(self, path: str) -> str:
        """The logical path behind all links; a link's absolute target is logical too. ELOOP after 40 links."""
        done: list[str] = []
        todo = [part for part in reversed(path.split("/")) if part and part != "."]
        links = 0
        while todo:
            part = todo.pop()
            if part == "..":
                done = done[:-1]
                continue
            here = "/" + "/".join([*done, part])
            try:
                target = os.readlink(self.below(here))
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                done.append(part)  # not a link
                continue
            links += 1
            if links > 40:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            if target.startswith("/"):
                done = []
            todo.extend(part for part in reversed(target.split("/")) if part and part != ".")
        return "/" + "/".join(done)


def _text(path: str) -> bytes | None:
    """The start of a file: a tree that somebody has put together may hold one without an end, or a pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return os.read(descriptor, 64)
        finally:
            os.close(descriptor)
    except OSError:
        return None


def _same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False
