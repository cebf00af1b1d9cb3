/* The standard input, whose buffer `std::cin` uses, too. The one that reads takes what the other
 * has buffered, so programs can use both in turn. */
#include "stdio_impl.h"
#include <string.h>

#undef stdin

enum { SIZE = 65536 };

static unsigned char buffer[UNGET + SIZE];

/* Takes back what `std::cin` has not consumed. */
void (*assay_return_input)(unsigned char **next, unsigned char **end);

static size_t read_input(FILE *file, unsigned char *out, size_t size)
{
    unsigned char *next = NULL, *end = NULL;
    if (assay_return_input)
        assay_return_input(&next, &end);
    if (next == end)
        return __stdio_read(file, out, size);
    size_t there = (size_t)(end - next);
    size = there < size ? there : size;
    memcpy(out, next, size);
    file->rpos = next + size;
    file->rend = end;
    return size;
}

hidden FILE __stdin_FILE = {
    .buf = buffer + UNGET,
    .buf_size = SIZE,
    .fd = 0,
    .flags = F_PERM | F_NOWR,
    .read = read_input,
    .seek = __stdio_seek,
    .close = __stdio_close,
};
FILE *const stdin = &__stdin_FILE;
FILE *volatile __stdin_used = &__stdin_FILE;

/* Gives all buffered input to `std::cin`, after reading some if there is none. There is room for a
 * character before it. The result is 0 at the end. */
size_t assay_take_input(unsigned char **first)
{
    FILE *file = &__stdin_FILE;
    if (file->rpos == file->rend) {
        if (__uflow(file) == EOF)
            return 0;
        file->rpos--;
    }
    *first = file->rpos;
    size_t size = (size_t)(file->rend - file->rpos);
    file->rpos = file->rend;
    return size;
}
