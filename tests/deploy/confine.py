"""Runs a command under a seccomp profile: ``python confine.py PROFILE [--without NAME]... -- COMMAND``.

Loads the profile as runc does, through libseccomp: rules in order, names that this processor lacks left out.
"""

import argparse
import ctypes
import errno
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

# seccomp.h
ALLOW = 0x7FFF0000
ERRNO = 0x00050000
COMPARE = {"SCMP_CMP_NE": 1, "SCMP_CMP_LT": 2, "SCMP_CMP_LE": 3, "SCMP_CMP_EQ": 4, "SCMP_CMP_MASKED_EQ": 7}
NATIVE = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}


class Argument(ctypes.Structure):
    """struct scmp_arg_cmp"""

    _fields_ = (
        ("index", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("value", ctypes.c_uint64),
        ("value_two", ctypes.c_uint64),
    )


def load(profile: dict[str, Any], without: frozenset[str]) -> None:
    """Confine this process for good. OSError where the kernel or libseccomp refuses."""
    assert NATIVE[platform.machine()] in profile["architectures"]
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    default = ERRNO | profile.get("defaultErrnoRet", errno.EPERM)
    context = ctypes.c_void_p(library.seccomp_init(default))
    for rule in profile["syscalls"]:
        assert rule["action"] == "SCMP_ACT_ALLOW"
        told = rule.get("args", [])
        arguments = (Argument * len(told))(
            *(Argument(a["index"], COMPARE[a["op"]], a["value"], a.get("valueTwo", 0)) for a in told)
        )
        for name in rule["names"]:
            number = library.seccomp_syscall_resolve_name(name.encode())
            if number >= 0 and name not in without:
                _check(library.seccomp_rule_add_array(context, ALLOW, number, len(told), arguments))
    _check(library.seccomp_load(context))


def _check(result: int) -> None:
    if result:
        raise OSError(-result, os.strerror(-result))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("profile", type=Path)
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    load(json.loads(args.profile.read_text()), frozenset(args.without))
    os.execvp(args.command[0], args.command)


if __name__ == "__main__":
    sys.exit(main())
