"""NVML, the only owner of pynvml: one open handle, given up on request, re-opened after a lost GPU.

Any NVML client blocks MIG mode changes, GPU resets and the driver's removal while it holds a device (facts of the
driver, not of pynvml), so ``release`` must always work, also while a call hangs.
"""

import _ctypes
import contextlib
import ctypes
import importlib
import math
import os
import threading
import time
from collections.abc import Callable, Sequence

from numa_exporter.model.health import FailureWord
from numa_exporter.model.recording import Json
from numa_exporter.sources.host import HostError
from numa_exporter.sources.nvml_questions import OF_DEVICE, OF_SYSTEM, Handle, Pynvml

DRIVER_ROOTS = ("", "/run/nvidia/driver", "/driver-root")
"""Where a driver's own root file system can lie: the host's, the GPU Operator's, a DRA driver's mount."""

RELEASED_SECONDS = 300.0
"""How long handles stay given up: time to change a MIG mode or reset a GPU. A second request starts it again."""

REOPEN_SECONDS, REOPEN_AT_MOST = 60.0, 600.0
"""How long an NVML that was opened anew in vain is left alone: twice as long each time. To open it is work for the
driver and for every GPU of the machine, and a GPU that fell off the bus stays away until a reset."""

_SONAME = "libnvidia-ml.so.1"
_FOLDERS = (
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/local/nvidia/lib64",
    "/lib64",  # GKE: the driver's root is the folder of its libraries
)

# nvml.h:nvmlReturn_t. INVALID_ARGUMENT and NOT_FOUND are an index that no device has (any more).
_ABSENT = frozenset({2, 3, 6, 12, 13, 21, 25, 26, 28})
_DENIED = frozenset({4})
_GONE = frozenset({1, 8, 9, 10, 11, 15, 16, 17, 18, 19, 20, 23, 27, 29})
# Only MIG parents were seen to ask for more than the device nodes.
_HINT = " (MIG needs CAP_SYS_ADMIN and, in a container, NVIDIA_MIG_MONITOR_DEVICES=all)"
_DRIVER_NOT_LOADED = 9
_LIB_RM_VERSION_MISMATCH = 18


class Nvml:
    """Questions to NVML by name. Opens the library at the first question.

    ``ask`` is for one thread at a time; a second one is told ``stuck``. ``release`` may come from any thread or
    signal handler at any time and returns at once. A forked child starts anew: NVML does not survive a fork.
    """

    def __init__(
        self,
        driver_roots: Sequence[str] = DRIVER_ROOTS,
        released_seconds: float = RELEASED_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._driver_roots = tuple(driver_roots)
        self._released_seconds = released_seconds
        self._clock = clock
        self._library: ctypes.CDLL | None = None
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._busy = threading.Lock()
        self._pynvml: Pynvml | None = None
        self._handles: dict[tuple[int | str, ...], Handle] = {}
        self._worked = False
        self._stale = False
        self._patience()
        self._released_until = -math.inf

    def _patience(self) -> None:
        """Nothing was tried in vain so far."""
        self._reopen_at, self._reopen_wait = -math.inf, REOPEN_SECONDS

    def ask(self, function: str, *arguments: int | str) -> Json:
        """The answer; see nvml_questions.py. "DeviceGetCount" is the first question of a look: where a GPU or the
        driver went away before, it opens NVML anew, and more and more rarely as long as that does not help.

        HostError: ``absent`` no library, no such function or not supported; ``denied``; ``gone`` a lost GPU or
        driver, or handles released; ``stuck`` an earlier call has not returned; ``garbled`` an answer that is none.
        """
        path = f"nvml:{function}"
        if self._process != os.getpid():
            self._start()
        if not self._busy.acquire(blocking=False):
            raise HostError("stuck", path, "an earlier call has not returned")
        try:
            if self._released:
                raise HostError("gone", path, "released on request")
            return self._answer(path, function, arguments)
        finally:
            self._busy.release()
            if self._released:  # asked for while the call was in flight
                self._close_unless_busy()

    def release(self) -> None:
        """Gives up every GPU handle for a while. Never waits: a call in flight does it when it returns, and a stuck
        one keeps them, for nvmlShutdown beside it would hang as well."""
        self._released_until = self._clock() + self._released_seconds
        self._patience()  # what was reset meanwhile is to be seen at once
        threading.Thread(target=self._close_unless_busy, name="nvml-release", daemon=True).start()

    @property
    def _released(self) -> bool:
        return self._clock() < self._released_until

    def _close_unless_busy(self) -> None:
        if self._busy.acquire(blocking=False):
            try:
                self._close()
            finally:
                self._busy.release()

    def _answer(self, path: str, function: str, arguments: tuple[int | str, ...]) -> Json:
        if function not in OF_SYSTEM and function not in OF_DEVICE:
            raise HostError("absent", path, "not in the table of questions")
        if function == "DeviceGetCount":
            self._handles.clear()  # GPUs and MIG devices come and go between looks
            if not self._stale:
                self._patience()
            elif self._clock() >= self._reopen_at:
                self._reopen_at = self._clock() + self._reopen_wait
                self._reopen_wait = min(2 * self._reopen_wait, REOPEN_AT_MOST)
                self._close()
        pynvml = self._pynvml or self._open(path)
        try:
            if function in OF_SYSTEM:
                return OF_SYSTEM[function](pynvml)
            return OF_DEVICE[function](pynvml, self._handle(pynvml, arguments))
        except pynvml.NVMLError as error:
            word = self._word(error.value)
            self._stale |= word in ("gone", "garbled")
            raise HostError(word, path, f"{error}{_HINT}" if word == "denied" else str(error)) from error
        except UnicodeDecodeError as error:
            raise HostError("garbled", path, str(error)) from error

    def _word(self, code: int) -> FailureWord:
        if code == _DRIVER_NOT_LOADED and not self._worked:
            return "absent"
        if code in _ABSENT:
            return "absent"
        return "denied" if code in _DENIED else "gone" if code in _GONE else "garbled"

    def _handle(self, pynvml: Pynvml, device: tuple[int | str, ...]) -> Handle:
        if device not in self._handles:
            index, *mig = device
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            if mig:
                handle = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, mig[0])
            self._handles[device] = handle
        return self._handles[device]

    def _open(self, path: str) -> Pynvml:
        self._library = self._library or self._load(path)
        # Not at the top: 7,000 lines that a host without the library need not carry.
        import pynvml

        pynvml.nvmlLib = self._library
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            detail = str(error)
            if error.value == _LIB_RM_VERSION_MISMATCH:
                self._unload(pynvml)
            raise HostError(self._word(error.value), path, detail) from error
        self._pynvml = pynvml
        self._worked = True
        self._stale = False
        return pynvml

    def _unload(self, pynvml: Pynvml) -> None:
        # The driver was upgraded below us. Nothing holds this library, for its nvmlInit failed: the next look loads
        # what lies there by then.
        if self._library is not None:
            _ctypes.dlclose(self._library._handle)
        self._library = None
        importlib.reload(pynvml)

    def _load(self, path: str) -> ctypes.CDLL:
        # The dynamic linker's own choice comes first: it knows the host's ld.so.conf. pynvml takes no path, but a
        # library that is already loaded answers to its soname.
        folders = (root + folder for root in self._driver_roots for folder in _FOLDERS)
        for name in (_SONAME, *(f"{folder}/{_SONAME}" for folder in folders)):
            try:
                return ctypes.CDLL(name)
            except OSError:
                continue
        raise HostError("gone" if self._worked else "absent", path, f"{_SONAME} not found")

    def _close(self) -> None:
        pynvml, self._pynvml = self._pynvml, None
        self._handles.clear()
        if pynvml is None:
            return
        # Where the driver went away below us, nothing is left that could be shut down.
        with contextlib.suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()
