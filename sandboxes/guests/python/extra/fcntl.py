"""Flags and locks of descriptors. There is only one process, so every lock succeeds; flags cannot
be changed.
"""

import os

F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW = range(8)
F_RDLCK, F_WRLCK, F_UNLCK = 0, 1, 2
F_DUPFD_CLOEXEC = 1030
FD_CLOEXEC = 1
LOCK_SH, LOCK_EX, LOCK_NB, LOCK_UN = 1, 2, 4, 8


def _number(fd):
    fd = fd if isinstance(fd, int) else fd.fileno()
    os.fstat(fd)
    return fd


def fcntl(fd, cmd, arg=0, /):
    _number(fd)
    if cmd == F_GETFD:
        return FD_CLOEXEC
    if cmd == F_GETFL:
        return os.O_RDWR
    if cmd in (F_SETFD, F_SETFL, F_SETLK, F_SETLKW):
        return arg if isinstance(arg, bytes) else 0
    raise OSError(22, "Invalid argument")


def ioctl(fd, request, arg=0, mutate_flag=True, /):
    _number(fd)
    raise OSError(25, "Inappropriate ioctl for device")


def flock(fd, operation, /):
    _number(fd)


def lockf(fd, cmd, len=0, start=0, whence=0, /):
    _number(fd)
