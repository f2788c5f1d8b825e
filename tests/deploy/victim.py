"""A process to look at: uid 1000, some memory, a GPU's device file open.

    python victim.py [DEVICE]

O_PATH opens a device node without its driver; what the descriptor tells about the node is the same.
"""

import ctypes
import os
import sys

ANON = 64 << 20
UID = 1000


def main() -> None:
    libc = ctypes.CDLL(None)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(UID, UID, UID)
        os.setresuid(UID, UID, UID)
        libc.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: as after an exec, which would need a way to the interpreter
    libc.prctl(1, 9)  # PR_SET_PDEATHSIG: no victim outlives its test
    opened = [os.open(device, os.O_PATH) for device in sys.argv[1:]]
    kept = b"x" * ANON
    print("ready", flush=True)
    sys.stdin.read()
    del kept, opened


if __name__ == "__main__":
    main()
