"""The group database: one group for each user of `pwd`."""

import pwd
from collections import namedtuple

struct_group = namedtuple("struct_group", "gr_name gr_passwd gr_gid gr_mem")
struct_group.__module__ = "grp"


def getgrall():
    return [struct_group(user.pw_name, "x", user.pw_gid, []) for user in pwd.getpwall()]


def getgrnam(name):
    for group in getgrall():
        if group.gr_name == name:
            return group
    raise KeyError(f"getgrnam(): name not found: {name!r}")


def getgrgid(id):
    for group in getgrall():
        if group.gr_gid == id:
            return group
    raise KeyError(f"getgrgid(): gid not found: {id}")
