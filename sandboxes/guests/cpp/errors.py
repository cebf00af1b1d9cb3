"""Checked changes of the C library after which `errno` has the numbers of Linux, and `strerror` the
texts of glibc. `c/wasi.c` translates the numbers of the host.
"""

import re

from downloads import Substitution

# The host's errors, and their numbers on Linux. The last one exists only there.
NUMBERS = """
    2BIG=7 ACCES=13 ADDRINUSE=98 ADDRNOTAVAIL=99 AFNOSUPPORT=97 AGAIN=11 ALREADY=114 BADF=9
    BADMSG=74 BUSY=16 CANCELED=125 CHILD=10 CONNABORTED=103 CONNREFUSED=111 CONNRESET=104 DEADLK=35
    DESTADDRREQ=89 DOM=33 DQUOT=122 EXIST=17 FAULT=14 FBIG=27 HOSTUNREACH=113 IDRM=43 ILSEQ=84
    INPROGRESS=115 INTR=4 INVAL=22 IO=5 ISCONN=106 ISDIR=21 LOOP=40 MFILE=24 MLINK=31 MSGSIZE=90
    MULTIHOP=72 NAMETOOLONG=36 NETDOWN=100 NETRESET=102 NETUNREACH=101 NFILE=23 NOBUFS=105 NODEV=19
    NOENT=2 NOEXEC=8 NOLCK=37 NOLINK=67 NOMEM=12 NOMSG=42 NOPROTOOPT=92 NOSPC=28 NOSYS=38
    NOTCONN=107 NOTDIR=20 NOTEMPTY=39 NOTRECOVERABLE=131 NOTSOCK=88 NOTSUP=95 NOTTY=25 NXIO=6
    OVERFLOW=75 OWNERDEAD=130 PERM=1 PIPE=32 PROTO=71 PROTONOSUPPORT=93 PROTOTYPE=91 RANGE=34
    ROFS=30 SPIPE=29 SRCH=3 STALE=116 TIMEDOUT=110 TXTBSY=26 XDEV=18 NOTCAPABLE=134
"""

TEXTS = {
    "EILSEQ": ("Illegal byte sequence", "Invalid or incomplete multibyte or wide character"),
    "EDOM": ("Domain error", "Numerical argument out of domain"),
    "ERANGE": ("Result not representable", "Numerical result out of range"),
    "ENOTTY": ("Not a tty", "Inappropriate ioctl for device"),
    "EOVERFLOW": ("Value too large for data type", "Value too large for defined data type"),
    "ENOMEM": ("Out of memory", "Cannot allocate memory"),
    "EBUSY": ("Resource busy", "Device or resource busy"),
    "ESPIPE": ("Invalid seek", "Illegal seek"),
    "EXDEV": ("Cross-device link", "Invalid cross-device link"),
    "ETIMEDOUT": ("Operation timed out", "Connection timed out"),
    "EHOSTUNREACH": ("Host is unreachable", "No route to host"),
    "EADDRINUSE": ("Address in use", "Address already in use"),
    "EIO": ("I/O error", "Input/output error"),
    "ELOOP": ("Symbolic link loop", "Too many levels of symbolic links"),
    "ENAMETOOLONG": ("Filename too long", "File name too long"),
    "EMFILE": ("No file descriptors available", "Too many open files"),
    "ECHILD": ("No child process", "No child processes"),
    "EDEADLK": ("Resource deadlock would occur", "Resource deadlock avoided"),
    "EOWNERDEAD": ("Previous owner died", "Owner died"),
    "ENOTSOCK": ("Not a socket", "Socket operation on non-socket"),
    "EMSGSIZE": ("Message too large", "Message too long"),
    "ENOTSUP": ("Not supported", "Operation not supported"),
    "EADDRNOTAVAIL": ("Address not available", "Cannot assign requested address"),
    "ENETUNREACH": ("Network unreachable", "Network is unreachable"),
    "ENETRESET": ("Connection reset by network", "Network dropped connection on reset"),
    "ECONNABORTED": ("Connection aborted", "Software caused connection abort"),
    "EISCONN": ("Socket is connected", "Transport endpoint is already connected"),
    "ENOTCONN": ("Socket not connected", "Transport endpoint is not connected"),
    "EINPROGRESS": ("Operation in progress", "Operation now in progress"),
    "EDQUOT": ("Quota exceeded", "Disk quota exceeded"),
}


def numbers():
    for index, (name, number) in enumerate(re.findall(r"(\w+)=(\d+)", NUMBERS)):
        define = f"#define __WASI_ERRNO_{name} (UINT16_C("
        yield Substitution(
            "include/wasi/api.h",
            "the number of Linux",
            f"{define}{index + 1}))",
            f"{define}{number}))",
        )


def texts():
    for old, new in TEXTS.values():
        yield Substitution(
            "libc/src/errno/__strerror.h", "the text of glibc", f'"{old}")', f'"{new}")'
        )


SUBSTITUTIONS = (
    *numbers(),
    *texts(),
    Substitution(
        "zig/c/stdlib.zig",
        "the number of Linux",
        "@backingInt(std.c.E.RANGE)",
        "34",
        3,
    ),
    Substitution(
        "zig/c/stdlib.zig",
        "the number of Linux",
        "@backingInt(std.c.E.INVAL)",
        "22",
    ),
    Substitution(
        "libc/bottom/cloudlibc/src/common/time.h",
        "a negative time is an error, as on Linux",
        "  if (timespec->tv_nsec < 0 || timespec->tv_nsec >= NSEC_PER_SEC)\n",
        "  if (timespec->tv_sec < 0 || timespec->tv_nsec < 0 || "
        "timespec->tv_nsec >= NSEC_PER_SEC)\n",
        2,
    ),
)
