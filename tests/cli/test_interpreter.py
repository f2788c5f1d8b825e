"""How the interpreter of an agent is set up: in a process of its own, for it is for good."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent.parent

PROGRAM = """
import ctypes
from numa_exporter.cli import interpreter
class Mallinfo2(ctypes.Structure):  # malloc.h
    _fields_ = [(name, ctypes.c_size_t) for name in
        "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]
mallinfo2 = ctypes.CDLL(None).mallinfo2
mallinfo2.restype = Mallinfo2
interpreter.settle()
large = bytearray(16 << 20)
del large
before = mallinfo2().hblks
block = bytearray(1 << 20)
print(mallinfo2().hblks - before)
"""


def test_a_large_block_is_mapped_by_itself_also_after_a_larger_one_was_freed() -> None:
    if not hasattr(ctypes.CDLL(None), "mallinfo2"):
        pytest.skip("needs glibc 2.33")
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=REPOSITORY, capture_output=True, timeout=60, check=True)
    assert done.stdout == b"1\n"
