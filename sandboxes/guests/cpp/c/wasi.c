/* The calls of the host, which has the interface of WASI preview 1 with 32-bit addresses. Programs
 * have 64-bit pointers, all of them below 4 GiB, so they are truncated, and structures that contain
 * pointers or sizes are converted here.
 *
 * The first page of the address space does not exist, so that a null pointer traps: the host's
 * address 0 is the program's address LOW. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wasi/api.h>

/* An address or a size as the host sees it. */
typedef uint32_t word;

typedef __wasi_errno_t error_t;

enum { LOW = 65536 };

#define ADDRESS(pointer) ((word)((uintptr_t)(pointer) - LOW))
#define SIZE(text) ((word)strlen(text))

#define HOST(name)                                                                                 \
    __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name))) word host_##name

HOST(args_get)(word pointers, word text);
HOST(args_sizes_get)(word count, word size);
HOST(clock_res_get)(word clock, word result);
HOST(clock_time_get)(word clock, uint64_t precision, word result);
HOST(environ_get)(word pointers, word text);
HOST(environ_sizes_get)(word count, word size);
HOST(fd_advise)(word fd, uint64_t offset, uint64_t size, word advice);
HOST(fd_allocate)(word fd, uint64_t offset, uint64_t size);
HOST(fd_close)(word fd);
HOST(fd_datasync)(word fd);
HOST(fd_fdstat_get)(word fd, word result);
HOST(fd_fdstat_set_flags)(word fd, word flags);
HOST(fd_filestat_get)(word fd, word result);
HOST(fd_filestat_set_size)(word fd, uint64_t size);
HOST(fd_filestat_set_times)(word fd, uint64_t accessed, uint64_t modified, word flags);
HOST(fd_pread)(word fd, word list, word count, uint64_t offset, word done);
HOST(fd_prestat_dir_name)(word fd, word path, word size);
HOST(fd_prestat_get)(word fd, word result);
HOST(fd_pwrite)(word fd, word list, word count, uint64_t offset, word done);
HOST(fd_read)(word fd, word list, word count, word done);
HOST(fd_readdir)(word fd, word buffer, word size, uint64_t cookie, word done);
HOST(fd_renumber)(word fd, word to);
HOST(fd_seek)(word fd, uint64_t offset, word whence, word result);
HOST(fd_sync)(word fd);
HOST(fd_tell)(word fd, word result);
HOST(fd_write)(word fd, word list, word count, word done);
HOST(path_create_directory)(word fd, word path, word size);
HOST(path_filestat_get)(word fd, word flags, word path, word size, word result);
HOST(path_filestat_set_times)(word fd, word flags, word path, word size, uint64_t accessed,
                              uint64_t modified, word which);
HOST(path_link)(word fd, word flags, word path, word size, word to_fd, word to, word to_size);
HOST(path_open)(word fd, word flags, word path, word size, word open_flags, uint64_t rights,
                uint64_t inherited, word fd_flags, word result);
HOST(path_readlink)(word fd, word path, word path_size, word buffer, word size, word done);
HOST(path_remove_directory)(word fd, word path, word size);
HOST(path_rename)(word fd, word path, word size, word to_fd, word to, word to_size);
HOST(path_symlink)(word target, word target_size, word fd, word path, word size);
HOST(path_unlink_file)(word fd, word path, word size);
HOST(poll_oneoff)(word in, word out, word count, word done);
HOST(random_get)(word buffer, word size);
HOST(sched_yield)(void);
_Noreturn __attribute__((import_module("wasi_snapshot_preview1"), import_name("proc_exit"))) void
host_proc_exit(word status);
__attribute__((import_module("assay"), import_name("return"))) void host_return(word at, word size);

/* A buffer of a scatter or gather call. An empty one may be at a null pointer, which the host could
 * not check. */
struct part {
    word address, size;
};

/* Buffers that are passed in one call. A call may transfer less than all of its buffers. */
enum { PARTS = 16 };

#define CONVERT(parts, list, count)                                                                \
    struct part parts[PARTS];                                                                      \
    count = count < PARTS ? count : PARTS;                                                         \
    for (size_t i = 0; i < count; i++)                                                             \
        parts[i] = (struct part){list[i].buf_len ? ADDRESS(list[i].buf) : 0, (word)list[i].buf_len}

/* The numbers of Linux for those of the host, in the order of the latter (`errors.py`). Access to
 * what the host does not show is refused by EACCES. */
static error_t translated(word error)
{
    static const uint8_t numbers[] = {
        0, E2BIG, EACCES, EADDRINUSE, EADDRNOTAVAIL, EAFNOSUPPORT, EAGAIN, EALREADY, EBADF,
        EBADMSG, EBUSY, ECANCELED, ECHILD, ECONNABORTED, ECONNREFUSED, ECONNRESET, EDEADLK,
        EDESTADDRREQ, EDOM, EDQUOT, EEXIST, EFAULT, EFBIG, EHOSTUNREACH, EIDRM, EILSEQ,
        EINPROGRESS, EINTR, EINVAL, EIO, EISCONN, EISDIR, ELOOP, EMFILE, EMLINK, EMSGSIZE,
        EMULTIHOP, ENAMETOOLONG, ENETDOWN, ENETRESET, ENETUNREACH, ENFILE, ENOBUFS, ENODEV,
        ENOENT, ENOEXEC, ENOLCK, ENOLINK, ENOMEM, ENOMSG, ENOPROTOOPT, ENOSPC, ENOSYS, ENOTCONN,
        ENOTDIR, ENOTEMPTY, ENOTRECOVERABLE, ENOTSOCK, ENOTSUP, ENOTTY, ENXIO, EOVERFLOW,
        EOWNERDEAD, EPERM, EPIPE, EPROTO, EPROTONOSUPPORT, EPROTOTYPE, ERANGE, EROFS, ESPIPE,
        ESRCH, ESTALE, ETIMEDOUT, ETXTBSY, EXDEV, EACCES,
    };
    return error < sizeof numbers ? numbers[error] : EIO;
}

/* Calls the host with the address of a word, and widens the word. */
#define COUNTED(result, ...)                                                                       \
    word counted = 0;                                                                              \
    word error = __VA_ARGS__;                                                                      \
    *result = counted;                                                                             \
    return translated(error)

/* Turns addresses that the host has written to the first half of the list into pointers. The host
 * has written `text` at its start. */
static void widen(uint8_t **list, size_t count)
{
    const word *addresses = (const word *)list;
    while (count-- > 0)
        list[count] = (uint8_t *)((uintptr_t)addresses[count] + LOW);
}

error_t __wasi_args_sizes_get(size_t *count, size_t *size)
{
    word counted = 0, sized = 0;
    word error = host_args_sizes_get(ADDRESS(&counted), ADDRESS(&sized));
    *count = counted;
    *size = sized;
    return translated(error);
}

error_t __wasi_args_get(uint8_t **list, uint8_t *text)
{
    size_t count, size;
    error_t error = __wasi_args_sizes_get(&count, &size);
    if (error == 0)
        error = translated(host_args_get(ADDRESS(list), ADDRESS(text)));
    if (error == 0)
        widen(list, count);
    return error;
}

/* Appends to the value that a called function returned (`calls.cpp`). */
void assay_return(const char *bytes, size_t size) { host_return(ADDRESS(bytes), (word)size); }

error_t __wasi_environ_sizes_get(size_t *count, size_t *size)
{
    word counted = 0, sized = 0;
    word error = host_environ_sizes_get(ADDRESS(&counted), ADDRESS(&sized));
    *count = counted;
    *size = sized;
    return translated(error);
}

error_t __wasi_environ_get(uint8_t **list, uint8_t *text)
{
    size_t count, size;
    error_t error = __wasi_environ_sizes_get(&count, &size);
    if (error == 0)
        error = translated(host_environ_get(ADDRESS(list), ADDRESS(text)));
    if (error == 0)
        widen(list, count);
    return error;
}

error_t __wasi_clock_res_get(__wasi_clockid_t clock, __wasi_timestamp_t *result)
{
    return translated(host_clock_res_get(clock, ADDRESS(result)));
}

error_t __wasi_clock_time_get(__wasi_clockid_t clock, __wasi_timestamp_t precision,
                              __wasi_timestamp_t *result)
{
    return translated(host_clock_time_get(clock, precision, ADDRESS(result)));
}

error_t __wasi_fd_advise(__wasi_fd_t fd, __wasi_filesize_t offset, __wasi_filesize_t size,
                         __wasi_advice_t advice)
{
    return translated(host_fd_advise(fd, offset, size, advice));
}

error_t __wasi_fd_allocate(__wasi_fd_t fd, __wasi_filesize_t offset, __wasi_filesize_t size)
{
    return translated(host_fd_allocate(fd, offset, size));
}

error_t __wasi_fd_close(__wasi_fd_t fd) { return translated(host_fd_close(fd)); }

error_t __wasi_fd_datasync(__wasi_fd_t fd) { return translated(host_fd_datasync(fd)); }

error_t __wasi_fd_sync(__wasi_fd_t fd) { return translated(host_fd_sync(fd)); }

error_t __wasi_fd_renumber(__wasi_fd_t fd, __wasi_fd_t to)
{
    return translated(host_fd_renumber(fd, to));
}

error_t __wasi_fd_fdstat_get(__wasi_fd_t fd, __wasi_fdstat_t *result)
{
    return translated(host_fd_fdstat_get(fd, ADDRESS(result)));
}

error_t __wasi_fd_fdstat_set_flags(__wasi_fd_t fd, __wasi_fdflags_t flags)
{
    return translated(host_fd_fdstat_set_flags(fd, flags));
}

error_t __wasi_fd_filestat_get(__wasi_fd_t fd, __wasi_filestat_t *result)
{
    return translated(host_fd_filestat_get(fd, ADDRESS(result)));
}

error_t __wasi_fd_filestat_set_size(__wasi_fd_t fd, __wasi_filesize_t size)
{
    return translated(host_fd_filestat_set_size(fd, size));
}

error_t __wasi_fd_filestat_set_times(__wasi_fd_t fd, __wasi_timestamp_t accessed,
                                     __wasi_timestamp_t modified, __wasi_fstflags_t which)
{
    return translated(host_fd_filestat_set_times(fd, accessed, modified, which));
}

error_t __wasi_fd_read(__wasi_fd_t fd, const __wasi_iovec_t *list, size_t count, size_t *done)
{
    CONVERT(parts, list, count);
    COUNTED(done, host_fd_read(fd, ADDRESS(parts), count, ADDRESS(&counted)));
}

error_t __wasi_fd_write(__wasi_fd_t fd, const __wasi_ciovec_t *list, size_t count, size_t *done)
{
    CONVERT(parts, list, count);
    COUNTED(done, host_fd_write(fd, ADDRESS(parts), count, ADDRESS(&counted)));
}

error_t __wasi_fd_pread(__wasi_fd_t fd, const __wasi_iovec_t *list, size_t count,
                        __wasi_filesize_t offset, size_t *done)
{
    CONVERT(parts, list, count);
    COUNTED(done, host_fd_pread(fd, ADDRESS(parts), count, offset, ADDRESS(&counted)));
}

error_t __wasi_fd_pwrite(__wasi_fd_t fd, const __wasi_ciovec_t *list, size_t count,
                         __wasi_filesize_t offset, size_t *done)
{
    CONVERT(parts, list, count);
    COUNTED(done, host_fd_pwrite(fd, ADDRESS(parts), count, offset, ADDRESS(&counted)));
}

error_t __wasi_fd_prestat_get(__wasi_fd_t fd, __wasi_prestat_t *result)
{
    struct {
        uint8_t tag;
        word name_size;
    } found = {0, 0};
    word error = host_fd_prestat_get(fd, ADDRESS(&found));
    result->tag = found.tag;
    result->u.dir.pr_name_len = found.name_size;
    return translated(error);
}

error_t __wasi_fd_prestat_dir_name(__wasi_fd_t fd, uint8_t *path, size_t size)
{
    return translated(host_fd_prestat_dir_name(fd, ADDRESS(path), size));
}

error_t __wasi_fd_readdir(__wasi_fd_t fd, uint8_t *buffer, size_t size, __wasi_dircookie_t cookie,
                          size_t *done)
{
    COUNTED(done, host_fd_readdir(fd, ADDRESS(buffer), size, cookie, ADDRESS(&counted)));
}

error_t __wasi_fd_seek(__wasi_fd_t fd, __wasi_filedelta_t offset, __wasi_whence_t whence,
                       __wasi_filesize_t *result)
{
    return translated(host_fd_seek(fd, offset, whence, ADDRESS(result)));
}

error_t __wasi_fd_tell(__wasi_fd_t fd, __wasi_filesize_t *result)
{
    return translated(host_fd_tell(fd, ADDRESS(result)));
}

error_t __wasi_path_create_directory(__wasi_fd_t fd, const char *path)
{
    return translated(host_path_create_directory(fd, ADDRESS(path), SIZE(path)));
}

error_t __wasi_path_filestat_get(__wasi_fd_t fd, __wasi_lookupflags_t flags, const char *path,
                                 __wasi_filestat_t *result)
{
    return translated(
        host_path_filestat_get(fd, flags, ADDRESS(path), SIZE(path), ADDRESS(result)));
}

error_t __wasi_path_filestat_set_times(__wasi_fd_t fd, __wasi_lookupflags_t flags, const char *path,
                                       __wasi_timestamp_t accessed, __wasi_timestamp_t modified,
                                       __wasi_fstflags_t which)
{
    return translated(host_path_filestat_set_times(fd, flags, ADDRESS(path), SIZE(path), accessed,
                                                   modified, which));
}

error_t __wasi_path_link(__wasi_fd_t fd, __wasi_lookupflags_t flags, const char *path,
                         __wasi_fd_t to_fd, const char *to)
{
    return translated(
        host_path_link(fd, flags, ADDRESS(path), SIZE(path), to_fd, ADDRESS(to), SIZE(to)));
}

error_t __wasi_path_open(__wasi_fd_t fd, __wasi_lookupflags_t flags, const char *path,
                         __wasi_oflags_t open_flags, __wasi_rights_t rights,
                         __wasi_rights_t inherited, __wasi_fdflags_t fd_flags, __wasi_fd_t *result)
{
    return translated(host_path_open(fd, flags, ADDRESS(path), SIZE(path), open_flags, rights,
                                     inherited, fd_flags, ADDRESS(result)));
}

error_t __wasi_path_readlink(__wasi_fd_t fd, const char *path, uint8_t *buffer, size_t size,
                             size_t *done)
{
    COUNTED(done, host_path_readlink(fd, ADDRESS(path), SIZE(path), ADDRESS(buffer), size,
                                     ADDRESS(&counted)));
}

error_t __wasi_path_remove_directory(__wasi_fd_t fd, const char *path)
{
    return translated(host_path_remove_directory(fd, ADDRESS(path), SIZE(path)));
}

error_t __wasi_path_rename(__wasi_fd_t fd, const char *path, __wasi_fd_t to_fd, const char *to)
{
    return translated(
        host_path_rename(fd, ADDRESS(path), SIZE(path), to_fd, ADDRESS(to), SIZE(to)));
}

error_t __wasi_path_symlink(const char *target, __wasi_fd_t fd, const char *path)
{
    return translated(
        host_path_symlink(ADDRESS(target), SIZE(target), fd, ADDRESS(path), SIZE(path)));
}

error_t __wasi_path_unlink_file(__wasi_fd_t fd, const char *path)
{
    return translated(host_path_unlink_file(fd, ADDRESS(path), SIZE(path)));
}

error_t __wasi_poll_oneoff(const __wasi_subscription_t *in, __wasi_event_t *out, size_t count,
                           size_t *done)
{
    word counted = 0;
    word error = host_poll_oneoff(ADDRESS(in), ADDRESS(out), count, ADDRESS(&counted));
    for (word i = 0; i < counted; i++)
        out[i].error = translated(out[i].error);
    *done = counted;
    return translated(error);
}

_Noreturn void __wasi_proc_exit(__wasi_exitcode_t status) { host_proc_exit(status); }

error_t __wasi_random_get(uint8_t *buffer, size_t size)
{
    return translated(host_random_get(ADDRESS(buffer), size));
}

error_t __wasi_sched_yield(void) { return translated(host_sched_yield()); }
