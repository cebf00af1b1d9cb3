/* Calls of the host whose arguments point to sizes or pointers. The host has the interface of WASI
 * preview 1 with 32-bit pointers, and programs have 64-bit ones. All addresses are below 4 GiB, so
 * pointers are truncated, and structures are converted here. `__wasilibc_real.c` of the C library
 * contains the other calls, which need no conversion. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wasi/api.h>

/* An address or size as the host sees it. */
typedef uint32_t word;

#define ADDRESS(pointer) ((word)(uintptr_t)(pointer))

#define HOST(name)                                                                                 \
    __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name))) word host_##name

HOST(args_get)(word pointers, word text);
HOST(args_sizes_get)(word count, word size);
HOST(environ_get)(word pointers, word text);
HOST(environ_sizes_get)(word count, word size);
HOST(fd_read)(word fd, word list, word count, word done);
HOST(fd_write)(word fd, word list, word count, word done);
HOST(fd_pread)(word fd, word list, word count, uint64_t offset, word done);
HOST(fd_pwrite)(word fd, word list, word count, uint64_t offset, word done);
HOST(fd_prestat_get)(word fd, word result);
HOST(fd_readdir)(word fd, word buffer, word size, uint64_t cookie, word done);
HOST(path_readlink)(word fd, word path, word path_size, word buffer, word size, word done);
HOST(poll_oneoff)(word in, word out, word count, word done);

/* A buffer of a scatter or gather call. */
struct part {
    word address, size;
};

/* Buffers that are passed in one call. A call may transfer less than all of its buffers. */
enum { PARTS = 16 };

#define CONVERT(parts, list, count)                                                                \
    struct part parts[PARTS];                                                                      \
    count = count < PARTS ? count : PARTS;                                                         \
    for (size_t i = 0; i < count; i++)                                                             \
        parts[i] = (struct part){ADDRESS(list[i].buf), (word)list[i].buf_len}

/* Widens pointers that the host has written to the first half of the list. */
static void widen(uint8_t **list, size_t count)
{
    const word *narrow = (const word *)list;
    while (count-- > 0)
        list[count] = (uint8_t *)(uintptr_t)narrow[count];
}

__wasi_errno_t __wasi_args_sizes_get(size_t *count, size_t *size)
{
    word counted = 0, sized = 0;
    word error = host_args_sizes_get(ADDRESS(&counted), ADDRESS(&sized));
    *count = counted;
    *size = sized;
    return error;
}

__wasi_errno_t __wasi_args_get(uint8_t **list, uint8_t *text)
{
    size_t count, size;
    word error = __wasi_args_sizes_get(&count, &size);
    if (error == 0)
        error = host_args_get(ADDRESS(list), ADDRESS(text));
    if (error == 0)
        widen(list, count);
    return error;
}

__wasi_errno_t __wasi_environ_sizes_get(size_t *count, size_t *size)
{
    word counted = 0, sized = 0;
    word error = host_environ_sizes_get(ADDRESS(&counted), ADDRESS(&sized));
    *count = counted;
    *size = sized;
    return error;
}

__wasi_errno_t __wasi_environ_get(uint8_t **list, uint8_t *text)
{
    size_t count, size;
    word error = __wasi_environ_sizes_get(&count, &size);
    if (error == 0)
        error = host_environ_get(ADDRESS(list), ADDRESS(text));
    if (error == 0)
        widen(list, count);
    return error;
}

__wasi_errno_t __wasi_fd_read(__wasi_fd_t fd, const __wasi_iovec_t *list, size_t count,
                              size_t *done)
{
    CONVERT(parts, list, count);
    word transferred = 0;
    word error = host_fd_read(fd, ADDRESS(parts), count, ADDRESS(&transferred));
    *done = transferred;
    return error;
}

__wasi_errno_t __wasi_fd_write(__wasi_fd_t fd, const __wasi_ciovec_t *list, size_t count,
                               size_t *done)
{
    CONVERT(parts, list, count);
    word transferred = 0;
    word error = host_fd_write(fd, ADDRESS(parts), count, ADDRESS(&transferred));
    *done = transferred;
    return error;
}

__wasi_errno_t __wasi_fd_pread(__wasi_fd_t fd, const __wasi_iovec_t *list, size_t count,
                               __wasi_filesize_t offset, size_t *done)
{
    CONVERT(parts, list, count);
    word transferred = 0;
    word error = host_fd_pread(fd, ADDRESS(parts), count, offset, ADDRESS(&transferred));
    *done = transferred;
    return error;
}

__wasi_errno_t __wasi_fd_pwrite(__wasi_fd_t fd, const __wasi_ciovec_t *list, size_t count,
                                __wasi_filesize_t offset, size_t *done)
{
    CONVERT(parts, list, count);
    word transferred = 0;
    word error = host_fd_pwrite(fd, ADDRESS(parts), count, offset, ADDRESS(&transferred));
    *done = transferred;
    return error;
}

__wasi_errno_t __wasi_fd_prestat_get(__wasi_fd_t fd, __wasi_prestat_t *result)
{
    struct {
        uint8_t tag;
        word name_size;
    } found = {0, 0};
    word error = host_fd_prestat_get(fd, ADDRESS(&found));
    result->tag = found.tag;
    result->u.dir.pr_name_len = found.name_size;
    return error;
}

__wasi_errno_t __wasi_fd_readdir(__wasi_fd_t fd, uint8_t *buffer, size_t size,
                                 __wasi_dircookie_t cookie, size_t *done)
{
    word transferred = 0;
    word error = host_fd_readdir(fd, ADDRESS(buffer), size, cookie, ADDRESS(&transferred));
    *done = transferred;
    return error;
}

__wasi_errno_t __wasi_path_readlink(__wasi_fd_t fd, const char *path, uint8_t *buffer, size_t size,
                                    size_t *done)
{
    word transferred = 0;
    word error = host_path_readlink(fd, ADDRESS(path), strlen(path), ADDRESS(buffer), size,
                                    ADDRESS(&transferred));
    *done = transferred;
    return error;
}

__wasi_errno_t __wasi_poll_oneoff(const __wasi_subscription_t *in, __wasi_event_t *out,
                                  size_t count, size_t *done)
{
    word happened = 0;
    word error = host_poll_oneoff(ADDRESS(in), ADDRESS(out), count, ADDRESS(&happened));
    *done = happened;
    return error;
}
