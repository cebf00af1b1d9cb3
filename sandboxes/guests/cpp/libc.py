"""The C library: which files of musl and of wasi-libc are compiled, and how. `c/` replaces files
that are excluded and needed.
"""

from toolchain import Unit

# Flags of all files of the library, in C and C++.
TARGET = (
    "--target=wasm64-wasip1",
    "-nostdinc",
    "-O2",
    "-g0",
    "-w",
    "-DNDEBUG",
    "-fno-stack-protector",
    "-fwasm-exceptions",
    "-mllvm",
    "-wasm-use-legacy-eh=false",
    "-mllvm",
    "-wasm-enable-sjlj",
    "-msimd128",
)

C = (
    "-std=gnu17",
    "-fno-strict-aliasing",
    "-Werror=implicit-function-declaration",
    "-Werror=incompatible-pointer-types",
    "-DBULK_MEMORY_THRESHOLD=32",
)

# What programs see, too.
PUBLIC = (
    "-D_WASI_EMULATED_SIGNAL",
    "-D_WASI_EMULATED_PROCESS_CLOCKS",
    "-D_WASI_EMULATED_GETPID",
    "-D_WASI_EMULATED_MMAN",
    "-isystem",
    "builtin",
    "-isystem",
    "include",
)

PRIVATE = (
    "-Ilibc/arch/wasm",
    "-Ilibc/arch/generic",
    "-Ilibc/src/include",
    "-Ilibc/src/internal",
    "-Ilibc/headers/private",
    "-Ilibc/bottom/headers/private",
    "-Ilibc/bottom/cloudlibc/src/include",
    "-Ilibc/bottom/cloudlibc/src",
)

# Folders of musl, and the files in them that are not compiled: they call the operating system, or
# another file of the library replaces them.
EXCLUDED = {
    "complex": "cimag cimagf cimagl creal crealf creall",
    "ctype": "",
    "dirent": "closedir dirfd fdopendir opendir readdir readdir_r rewinddir scandir seekdir "
    "telldir",
    "env": "__init_tls __libc_start_main __reset_tls secure_getenv __stack_chk_fail",
    "errno": "__errno_location",
    "exit": "_Exit abort abort_lock assert",
    "fcntl": "fcntl open openat",
    "fenv": "",
    "internal": "emulate_wait4 defsysinfo procfdname syscall_ret vdso",
    "locale": "dcngettext bind_textdomain_codeset textdomain",
    "math": "acosh asinf asinh asinhf atan2 atan2f atanh atanhf erf erff expm1 expm1f fma "
    "j0 j0f j1 j1f jn jnf lgamma_r lgammaf_r nearbyint nearbyintf pow powf sinh sinhf tgamma "
    "tgammaf",
    "multibyte": "",
    "prng": "random",
    "regex": "",
    "search": "",
    "stdio": "__lockfile flockfile ftrylockfile funlockfile pclose popen remove rename stdin "
    "tempnam tmpfile tmpnam",
    "stdlib": "",
    "string": "",
    "time": "__map_file clock clock_getcpuclockid clock_getres clock_gettime clock_nanosleep "
    "clock_settime gettimeofday nanosleep time timer_create timer_delete timer_getoverrun "
    "timer_gettime timer_settime times utime",
}

# Single files of other folders of musl.
CHOSEN = {
    "conf": "confstr fpathconf pathconf sysconf",
    "legacy": "err getpagesize",
    "misc": "a64l basename dirname fmtmsg get_current_dir_name getdomainname getopt getopt_long "
    "getsubopt nftw realpath",
    "setjmp/wasm32": "rt",
    "stat": "futimesat",
    "temp": "__randname mkdtemp mkostemp mkostemps mkstemp mkstemps mktemp",
    "thread": "default_attr pthread_attr_destroy pthread_attr_init pthread_attr_setdetachstate "
    "pthread_attr_setguardsize pthread_attr_setstack pthread_attr_setstacksize "
    "pthread_barrierattr_destroy pthread_barrierattr_init pthread_barrierattr_setpshared "
    "pthread_cancel pthread_cleanup_push pthread_condattr_destroy pthread_condattr_init "
    "pthread_condattr_setclock pthread_condattr_setpshared pthread_equal pthread_getspecific "
    "pthread_key_create pthread_mutex_destroy pthread_mutex_init pthread_mutexattr_destroy "
    "pthread_mutexattr_init pthread_mutexattr_setprotocol pthread_mutexattr_setpshared "
    "pthread_mutexattr_setrobust pthread_mutexattr_settype pthread_rwlock_destroy "
    "pthread_rwlock_init pthread_rwlockattr_destroy pthread_rwlockattr_init "
    "pthread_rwlockattr_setpshared pthread_self pthread_setcancelstate pthread_setcanceltype "
    "pthread_setspecific pthread_testcancel thrd_sleep",
    "unistd": "gethostname",
}

# Files of the layer above the host that `c/` replaces.
REPLACED = (
    "crt/crt1-command.c",
    "crt/crt1-reactor.c",
    "signal/signal.c",
    "sources/__main_void.c",
    "sources/__wasilibc_real.c",
    "sources/abort.c",
    "sources/accept-wasip1.c",
    "sources/sbrk.c",
    "cloudlibc/src/libc/sys/socket/getsockopt.c",
    "cloudlibc/src/libc/sys/socket/recv.c",
    "cloudlibc/src/libc/sys/socket/send.c",
    "cloudlibc/src/libc/sys/socket/shutdown.c",
)

# Memory for what the library allocates before a program starts, and what it frees before.
ARENA_BYTES = 64 << 10

OWN = ("wasi.c", "process.c", "random.c", "small.c", "sort.c")


def units(tree):
    """All files of the library, with their flags."""
    found = []
    for folder, excluded in EXCLUDED.items():
        names = sorted(path.stem for path in (tree / "libc" / "src" / folder).glob("*.c"))
        found += [(folder, name) for name in names if name not in excluded.split()]
    for folder, names in CHOSEN.items():
        found += [(folder, name) for name in names.split()]
    flags = C + ("-D_XOPEN_SOURCE=700",) + PRIVATE + PUBLIC
    result = [Unit(f"libc/src/{folder}/{name}.c", flags) for folder, name in found]
    flags = C + ("-D_GNU_SOURCE",) + PRIVATE + PUBLIC
    for folder in ("bottom", "wasi", "thread-stub"):
        base = tree / "libc" / folder
        for path in sorted(base.rglob("*.c")):
            name = path.relative_to(base).as_posix()
            if name in REPLACED:
                continue
            result.append(Unit(f"libc/{folder}/{name}", flags))
    flags = C + ("-D_GNU_SOURCE",) + PUBLIC
    result.append(Unit("libc/bottom/signal/signal.c", flags))
    result.append(Unit("stdin.c", C + ("-D_XOPEN_SOURCE=700",) + PRIVATE + PUBLIC, own=True))
    heap = (
        f"-DARENA_BYTES={ARENA_BYTES}",
        "-DHEAP_MALLOC=heap_malloc",
        "-DHEAP_FREE=heap_free",
        "-Drealloc=heap_realloc",
    )
    result.append(Unit("malloc.c", flags + heap, own=True))
    return result + [Unit(name, flags, own=True) for name in OWN]
