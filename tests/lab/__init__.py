"""The NUMA lab: Debian's kernels on machines of any topology under QEMU, running this checkout inside.

    python -m tests.lab 2s2n -- numactl --hardware

The guest's root is this machine's own file system, read-only below a tmpfs, so whatever runs here runs there:
the virtual environment, numactl, the test suite. Nothing is installed and no disk image is made.
"""
