/* What CPython may use of WASI preview 1.
 *
 * Written by hand in place of the result of CPython's `configure`: its link
 * tests accept functions that do not exist here, and its answers depend on the
 * host. A name that is absent is a feature the image does not have. The tool
 * that freezes modules is built for the host with the same header; it only
 * compiles and marshals, so what WASI has is enough for it.
 */
#ifndef Py_PYCONFIG_H
#define Py_PYCONFIG_H

/* The shape of the C types, as the compiler sees them. */
#define SIZEOF_DOUBLE __SIZEOF_DOUBLE__
#define SIZEOF_FLOAT __SIZEOF_FLOAT__
#define SIZEOF_INT __SIZEOF_INT__
#define SIZEOF_LONG __SIZEOF_LONG__
#define SIZEOF_LONG_DOUBLE __SIZEOF_LONG_DOUBLE__
#define SIZEOF_LONG_LONG __SIZEOF_LONG_LONG__
#define SIZEOF_SHORT __SIZEOF_SHORT__
#define SIZEOF_SIZE_T __SIZEOF_SIZE_T__
#define SIZEOF_UINTPTR_T __SIZEOF_POINTER__
#define SIZEOF_VOID_P __SIZEOF_POINTER__
#define SIZEOF_WCHAR_T __SIZEOF_WCHAR_T__
#define SIZEOF__BOOL 1
#define SIZEOF_FPOS_T 16
#define SIZEOF_OFF_T 8
#define SIZEOF_PID_T 4
#define SIZEOF_PTHREAD_KEY_T 4
#define SIZEOF_PTHREAD_T __SIZEOF_LONG__
#define SIZEOF_TIME_T 8
#define ALIGNOF_LONG __SIZEOF_LONG__
#define ALIGNOF_SIZE_T __SIZEOF_SIZE_T__
#define ALIGNOF_MAX_ALIGN_T 16
#define DOUBLE_IS_LITTLE_ENDIAN_IEEE754 1
#define HAVE_LONG_DOUBLE 1
#define HAVE_SSIZE_T 1
#define HAVE_CLOCK_T 1
#define HAVE_PROTOTYPES 1
#define HAVE_STD_ATOMIC 1
#define HAVE_BUILTIN_ATOMIC 1
#define HAVE_LARGEFILE_SUPPORT 1
#define RETSIGTYPE void
#define STDC_HEADERS 1

/* Integers have 30-bit digits, as on every 64-bit platform: wasm multiplies
 * 64-bit words natively, and CPython would choose 15 for 32-bit pointers. */
#define PYLONG_BITS_IN_DIGIT 30

/* How CPython is built. */
#define WITH_DECIMAL_CONTEXTVAR 1
#define WITH_DOC_STRINGS 1
#define WITH_FREELISTS 1
#define WITH_PYMALLOC 1
#define PY_BUILTIN_HASHLIB_HASHES "md5,sha1,sha2,sha3,blake2"
#define PY_SSL_DEFAULT_CIPHERS 1
#define PY_SUPPORT_TIER 2
#define _PYTHONFRAMEWORK ""
#define PTHREAD_KEY_T_IS_COMPATIBLE_WITH_INT 1

/* What the headers are asked to declare. */
#define _FILE_OFFSET_BITS 64
#define _LARGEFILE_SOURCE 1
#define _GNU_SOURCE 1
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

/* One thread: locks are no-ops and starting another thread raises. */
#ifdef __wasi__
#define _WASI_EMULATED_GETPID 1
#define _WASI_EMULATED_PROCESS_CLOCKS 1
#define _WASI_EMULATED_SIGNAL 1
#define HAVE_PTHREAD_STUBS 1
#else
#define HAVE_PTHREAD_H 1
#endif

/* Headers. */
#define HAVE_ALLOCA_H 1
#define HAVE_DIRENT_H 1
#define HAVE_ENDIAN_H 1
#define HAVE_ERRNO_H 1
#define HAVE_FCNTL_H 1
#define HAVE_INTTYPES_H 1
#define HAVE_LANGINFO_H 1
#define HAVE_NETDB_H 1
#define HAVE_NETINET_IN_H 1
#define HAVE_POLL_H 1
#define HAVE_SCHED_H 1
#define HAVE_SIGNAL_H 1
#define HAVE_STDINT_H 1
#define HAVE_STDIO_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STRINGS_H 1
#define HAVE_STRING_H 1
#define HAVE_SYSEXITS_H 1
#define HAVE_SYS_FILE_H 1
#define HAVE_SYS_IOCTL_H 1
#define HAVE_SYS_PARAM_H 1
#define HAVE_SYS_POLL_H 1
#define HAVE_SYS_RANDOM_H 1
#define HAVE_SYS_SELECT_H 1
#define HAVE_SYS_SOCKET_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_SYS_TIMES_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_UIO_H 1
#define HAVE_SYS_UTSNAME_H 1
#define HAVE_UNISTD_H 1
#define HAVE_UTIME_H 1
#define HAVE_WCHAR_H 1
#define SYS_SELECT_WITH_SYS_TIME 1

/* Members of structures. */
#define HAVE_ADDRINFO 1
#define HAVE_DIRENT_D_TYPE 1
#define HAVE_SOCKADDR_STORAGE 1
#define HAVE_SOCKLEN_T 1
#define HAVE_STAT_TV_NSEC 1
#define HAVE_STRUCT_STAT_ST_BLKSIZE 1
#define HAVE_STRUCT_STAT_ST_BLOCKS 1
#define HAVE_STRUCT_STAT_ST_RDEV 1
#define HAVE_STRUCT_TM_TM_ZONE 1
#define HAVE_TM_ZONE 1

/* Files and folders. Not here: permissions, owners, locks, pipes and mapped
 * files, which WASI does not have. */
#define HAVE_DIRFD 1
#define HAVE_FACCESSAT 1
#define HAVE_FDATASYNC 1
#define HAVE_FPATHCONF 1
#define HAVE_FSEEKO 1
#define HAVE_FSTATAT 1
#define HAVE_FSYNC 1
#define HAVE_FTELLO 1
#define HAVE_FTRUNCATE 1
#define HAVE_FUTIMENS 1
#define HAVE_LINK 1
#define HAVE_LINKAT 1
#define HAVE_LSTAT 1
#define HAVE_MKDIRAT 1
#define HAVE_OPENAT 1
#define HAVE_OPENDIR 1
#define HAVE_PATHCONF 1
#define HAVE_POSIX_FADVISE 1
#define HAVE_POSIX_FALLOCATE 1
#define HAVE_PREAD 1
#define HAVE_PWRITE 1
#define HAVE_READLINK 1
#define HAVE_READLINKAT 1
#define HAVE_REALPATH 1
#define HAVE_RENAMEAT 1
#define HAVE_SYMLINK 1
#define HAVE_SYMLINKAT 1
#define HAVE_TRUNCATE 1
#define HAVE_UNLINKAT 1
#define HAVE_UTIMENSAT 1
#define HAVE_UTIMES 1

/* Time. */
#define HAVE_CLOCK 1
#define HAVE_CLOCK_GETRES 1
#define HAVE_CLOCK_GETTIME 1
#define HAVE_CLOCK_NANOSLEEP 1
#define HAVE_MKTIME 1
#define HAVE_NANOSLEEP 1
#define HAVE_STRFTIME 1
#define HAVE_TIMEGM 1
#define HAVE_TIMES 1
#define HAVE_WCSFTIME 1

/* The rest of the C library. */
#define HAVE_ACOSH 1
#define HAVE_ASINH 1
#define HAVE_ATANH 1
#define HAVE_CONFSTR 1
#define HAVE_ERF 1
#define HAVE_ERFC 1
#define HAVE_EXPLICIT_BZERO 1
#define HAVE_EXPM1 1
#define HAVE_GETENTROPY 1
#define HAVE_GETPAGESIZE 1
#define HAVE_GETPID 1
#define HAVE_LOG1P 1
#define HAVE_LOG2 1
#define HAVE_MBRTOWC 1
#define HAVE_MEMRCHR 1
#define HAVE_SETLOCALE 1
#define HAVE_SETVBUF 1
#define HAVE_SNPRINTF 1
#define HAVE_STRLCPY 1
#define HAVE_STRSIGNAL 1
#define HAVE_SYSCONF 1
#define HAVE_UNAME 1
#define HAVE_WCSCOLL 1
#define HAVE_WCSXFRM 1
#define HAVE_WMEMCMP 1

/* Sockets: only what is done to a socket that the host hands over. */
#define HAVE_ACCEPT 1
#define HAVE_ACCEPT4 1
#define HAVE_GETADDRINFO 1
#define HAVE_GETHOSTBYNAME 1
#define HAVE_GETNAMEINFO 1
#define HAVE_INET_ATON 1
#define HAVE_INET_PTON 1
#define HAVE_POLL 1
#define HAVE_SHUTDOWN 1

#endif
