"""Functions of Linux that WASI lacks. Those that a single process can support are implemented. The
others raise an exception with their name.
"""

import math
import os
import signal
import socket
import sys
import time

from . import refusals

USER = 1000

# Functions of native CPython that cannot work here, by cause.
REFUSED = {
    "process": """
        os.fork os.forkpty os.execv os.execve os.posix_spawn os.posix_spawnp os.spawnl os.spawnle
        os.spawnlp os.spawnlpe os.spawnv os.spawnve os.spawnvp os.spawnvpe os.system os.wait
        os.wait3 os.wait4 os.waitid os.waitpid os.pidfd_open os.pipe os.pipe2 os.openpty os.dup2
        os.sendfile os.splice os.setuid os.setgid os.setsid os.setpgid os.chroot
    """.split(),
    "file": "os.mkfifo os.mknod os.memfd_create os.eventfd os.statvfs os.fstatvfs".split(),
    "network": "socket.socketpair socket.fromfd socket.sethostname socket.if_nameindex".split(),
}


def _constant(value):
    return lambda *args: value


# Functions that return a constant: there is one user, one processor and no terminal.
ANSWERS = {
    "getuid": USER,
    "geteuid": USER,
    "getgid": USER,
    "getegid": USER,
    "getresuid": (USER, USER, USER),
    "getresgid": (USER, USER, USER),
    "getgroups": [USER],
    "getlogin": "user",
    "getppid": 1,
    "getpgid": 1,
    "getpgrp": 1,
    "getsid": 1,
    "getpriority": 0,
    "setpriority": None,
    "nice": 0,
    "getloadavg": (0.0, 0.0, 0.0),
    "cpu_count": 1,
    "process_cpu_count": 1,
    "sync": None,
    "sched_setaffinity": None,
    "register_at_fork": None,
}


def _umask():
    mask = [0o022]

    def umask(new, /):
        before, mask[0] = mask[0], new & 0o777
        return before

    return umask


def _checked(path):
    """Raises if the path does not exist; otherwise has no effect."""
    if isinstance(path, int):
        os.fstat(path)
    else:
        os.stat(path)


def chmod(path, mode, *, dir_fd=None, follow_symlinks=True):
    _checked(path)


def chown(path, uid, gid, *, dir_fd=None, follow_symlinks=True):
    _checked(path)


def fchmod(fd, mode):
    _checked(fd)


def fchown(fd, uid, gid):
    _checked(fd)


def kill(pid, number, /):
    """Delivers signals that the program sends to itself."""
    if pid not in (0, os.getpid(), -os.getpid()):
        raise ProcessLookupError(3, "No such process")
    if number:
        signal.raise_signal(number)


def no_terminal(fd=1, /):
    raise OSError(25, "Inappropriate ioctl for device")


def uname():
    return os.uname_result(("Linux", "localhost", "6.1.0", "#1 SMP", "x86_64"))


def getrandom(size, flags=0):
    return os.urandom(size)


def _install_os():
    for name, answer in ANSWERS.items():
        setattr(os, name, _constant(answer))
    os.sched_getaffinity = lambda pid, /: {0}
    os.initgroups = os.setgroups = _constant(None)
    os.umask = _umask()
    for function in (chmod, chown, fchmod, fchown, kill, uname, getrandom):
        setattr(os, function.__name__, function)
    os.lchown = chown
    os.killpg = kill
    os.get_terminal_size = os.ttyname = os.tcgetpgrp = no_terminal
    os.SCHED_OTHER, os.PRIO_PROCESS, os.WNOHANG, os.P_NOWAIT, os.P_WAIT = 0, 0, 1, 1, 0


class ItimerError(OSError):
    """`signal.ItimerError`."""


ItimerError.__name__ = ItimerError.__qualname__ = "itimer_error"
ItimerError.__module__ = "signal"


class Timers:
    """Alarms and interval timers. They can be set and read, but never interrupt the program."""

    def __init__(self):
        self._ends = {}

    def _left(self, which):
        end, interval = self._ends.get(which, (0.0, 0.0))
        left = end - time.monotonic()
        return (left, interval) if left > 0 else (0.0, 0.0)

    def alarm(self, seconds, /):
        before = self.setitimer(0, seconds)
        return math.ceil(before[0])

    def setitimer(self, which, seconds, interval=0.0, /):
        before = self.getitimer(which)
        if seconds < 0 or interval < 0:
            raise ItimerError(22, "Invalid argument")
        self._ends.pop(which, None)
        if seconds:
            self._ends[which] = (time.monotonic() + seconds, interval)
        return before

    def getitimer(self, which, /):
        if which not in (0, 1, 2):
            raise ItimerError(22, "Invalid argument")
        return self._left(which)

    def pause(self):
        """Waits for the alarm, since no other signal can arrive."""
        left = self._left(0)[0]
        if not left:
            while True:
                time.sleep(3600)
        time.sleep(left)
        self._ends.pop(0, None)
        signal.raise_signal(signal.SIGALRM)


def _install_signal():
    timers = Timers()
    for name in ("alarm", "setitimer", "getitimer", "pause"):
        setattr(signal, name, getattr(timers, name))
    signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF, signal.ItimerError = (
        0,
        1,
        2,
        ItimerError,
    )
    signal.SIG_BLOCK, signal.SIG_UNBLOCK, signal.SIG_SETMASK = 0, 1, 2
    signal.SIGRTMIN, signal.SIGRTMAX, signal.SIGCLD = 34, 64, 17
    signal.pthread_sigmask = lambda how, mask, /: set()
    signal.sigpending = lambda: set()
    signal.siginterrupt = lambda number, flag, /: None
    signal.valid_signals = lambda: set(range(1, 65))
    signal.pthread_kill = lambda identity, number, /: number and signal.raise_signal(number)


def _install_time():
    time.thread_time, time.thread_time_ns = time.process_time, time.process_time_ns
    time.CLOCK_PROCESS_CPUTIME_ID = time.CLOCK_THREAD_CPUTIME_ID = time.CLOCK_MONOTONIC
    time.CLOCK_BOOTTIME = time.CLOCK_MONOTONIC_RAW = time.CLOCK_MONOTONIC
    time.tzset = lambda: None


def _refuse_lookup(name):
    return refusals.refused("network", name, socket.gaierror)


def _install_socket():
    def refuse(self, *args, **kwargs):
        raise refusals.refusal("network", "socket.socket")

    socket.socket.__init__ = refuse
    # `__repr__` of a socket that `__init__` refused would fail.
    socket.socket.__repr__ = object.__repr__
    for name in (
        "getaddrinfo",
        "gethostbyname",
        "gethostbyname_ex",
        "gethostbyaddr",
        "getnameinfo",
    ):
        setattr(socket, name, _refuse_lookup(f"socket.{name}"))
    socket.gethostname = lambda: "localhost"


def install():
    _install_os()
    _install_signal()
    _install_time()
    _install_socket()
    modules = {"os": os, "socket": socket}
    for cause, names in REFUSED.items():
        for full in names:
            module, _, name = full.partition(".")
            setattr(modules[module], name, refusals.refused(cause, full))
    sys._home = None
