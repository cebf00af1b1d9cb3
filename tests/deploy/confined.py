#!/usr/bin/env python3
"""Runs a command as the user of the container, without privileges and with a seccomp profile in the
format of container engines, as they do.

usage: confined.py PROFILE COMMAND [ARGUMENT...]

Needs root, and libseccomp, which Debian always has.
"""

import ctypes
import json
import os
import sys

USER = 65532
PR_SET_NO_NEW_PRIVS = 38
ARCHITECTURES = {"SCMP_ARCH_X86_64": 0xC000003E, "SCMP_ARCH_AARCH64": 0xC00000B7}
COMPARISONS = {"SCMP_CMP_EQ": 4, "SCMP_CMP_MASKED_EQ": 7}


class Comparison(ctypes.Structure):
    _fields_ = [
        ("arg", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("value", ctypes.c_uint64),
        ("value_two", ctypes.c_uint64),
    ]


def action(name, errno):
    actions = {"SCMP_ACT_ALLOW": 0x7FFF0000, "SCMP_ACT_ERRNO": 0x00050000 | (errno or 1)}
    return actions[name]


def check(status, what):
    if status < 0:
        sys.exit(f"confined.py: {what}: {os.strerror(-status)}")


def number_of(name):
    """The number of a system call: negative if this architecture lacks it, -1 if it is unknown."""
    return ctypes.CDLL("libseccomp.so.2").seccomp_syscall_resolve_name(name.encode())


def load(profile):
    """Applies a profile to this process and the programs that it runs."""
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    filters = ctypes.c_void_p(
        library.seccomp_init(action(profile["defaultAction"], profile.get("defaultErrnoRet")))
    )
    for name in profile["architectures"]:
        if name not in ARCHITECTURES:
            sys.exit(f"confined.py: unknown architecture `{name}`")
    for group in profile["syscalls"]:
        given = [
            (one["index"], COMPARISONS[one["op"]], one["value"], one.get("valueTwo", 0))
            for one in group.get("args", [])
        ]
        comparisons = (Comparison * max(len(given), 1))(*(Comparison(*one) for one in given))
        for name in group["names"]:
            number = number_of(name)
            if number == -1:
                sys.exit(f"confined.py: unknown system call `{name}`")
            # Negative numbers are calls of other architectures, which container engines ignore.
            if number >= 0:
                status = library.seccomp_rule_add_array(
                    filters,
                    ctypes.c_uint32(action(group["action"], group.get("errnoRet"))),
                    number,
                    len(given),
                    comparisons,
                )
                check(status, name)
    check(library.seccomp_load(filters), "cannot load the profile")


def main():
    path, *command = sys.argv[1:]
    if not command:
        sys.exit(__doc__)
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    # The last privileges of root end here.
    os.setresuid(USER, USER, USER)
    if ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        sys.exit("confined.py: cannot set no_new_privs")
    load(profile)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
