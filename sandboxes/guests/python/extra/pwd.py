"""The user database: root, and the user that programs run as. Its number and name match those in
`driver/system.py`.
"""

from collections import namedtuple

struct_passwd = namedtuple(
    "struct_passwd", "pw_name pw_passwd pw_uid pw_gid pw_gecos pw_dir pw_shell"
)
struct_passwd.__module__ = "pwd"

_users = [
    struct_passwd("root", "x", 0, 0, "root", "/", "/bin/sh"),
    struct_passwd("user", "x", 1000, 1000, "", "/", "/bin/sh"),
]


def getpwall():
    return list(_users)


def getpwnam(name, /):
    for user in _users:
        if user.pw_name == name:
            return user
    raise KeyError(f"getpwnam(): name not found: {name!r}")


def getpwuid(uid, /):
    for user in _users:
        if user.pw_uid == uid:
            return user
    raise KeyError(f"getpwuid(): uid not found: {uid}")
