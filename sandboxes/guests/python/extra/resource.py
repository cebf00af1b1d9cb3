"""Resource limits and usage as Linux reports them. Limits can be set and read but are not enforced;
those of the sandbox apply.
"""

import time
from collections import namedtuple

error = OSError
RLIM_INFINITY = -1
(
    RLIMIT_CPU,
    RLIMIT_FSIZE,
    RLIMIT_DATA,
    RLIMIT_STACK,
    RLIMIT_CORE,
    RLIMIT_RSS,
    RLIMIT_NPROC,
    RLIMIT_NOFILE,
) = range(8)
(
    RLIMIT_MEMLOCK,
    RLIMIT_AS,
    RLIMIT_LOCKS,
    RLIMIT_SIGPENDING,
    RLIMIT_MSGQUEUE,
    RLIMIT_NICE,
    RLIMIT_RTPRIO,
    RLIMIT_RTTIME,
) = range(8, 16)
RLIMIT_OFILE = RLIMIT_NOFILE
RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_THREAD = 0, -1, 1

struct_rusage = namedtuple(
    "struct_rusage",
    "ru_utime ru_stime ru_maxrss ru_ixrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock ru_oublock ru_msgsnd "
    "ru_msgrcv ru_nsignals ru_nvcsw ru_nivcsw",
)
struct_rusage.__module__ = "resource"

_limits = {number: (RLIM_INFINITY, RLIM_INFINITY) for number in range(16)}
_limits[RLIMIT_STACK] = (8 << 20, RLIM_INFINITY)
_limits[RLIMIT_NOFILE] = (256, 256)
_limits[RLIMIT_CORE] = (0, RLIM_INFINITY)

# Memory of a native interpreter after startup, in KiB.
_MEMORY = 12_000


def _check(number):
    if not isinstance(number, int):
        raise TypeError(f"'{type(number).__name__}' object cannot be interpreted as an integer")
    if number not in _limits:
        raise ValueError("invalid resource specified")


def getrlimit(resource, /):
    _check(resource)
    return _limits[resource]


def setrlimit(resource, limits, /):
    _check(resource)
    limits = tuple(limits)
    if len(limits) != 2:
        raise ValueError("expected a tuple of 2 integers")
    soft, hard = (RLIM_INFINITY if limit < 0 else limit for limit in map(int, limits))
    most = _limits[resource][1]
    if hard != RLIM_INFINITY and (soft == RLIM_INFINITY or soft > hard):
        raise ValueError("current limit exceeds maximum limit")
    if most != RLIM_INFINITY and (hard == RLIM_INFINITY or hard > most):
        raise ValueError("not allowed to raise maximum limit")
    _limits[resource] = (soft, hard)


def prlimit(pid, resource, limits=None, /):
    before = getrlimit(resource)
    if limits is not None:
        setrlimit(resource, limits)
    return before


def getrusage(who, /):
    if who not in (RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_THREAD):
        raise ValueError("invalid who parameter")
    used = 0.0 if who == RUSAGE_CHILDREN else time.process_time()
    return struct_rusage(used, 0.0, 0 if who == RUSAGE_CHILDREN else _MEMORY, *[0] * 13)


def getpagesize():
    return 4096
