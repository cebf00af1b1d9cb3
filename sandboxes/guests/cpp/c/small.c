/* Small blocks of the heap, which C++ programs allocate and free in large numbers. Freed ones are
 * kept in lists by size and reused without the work of merging and splitting. The lists return to
 * the heap when they have become large and a program needs other sizes.
 *
 * `malloc.c` of the toolchain is the heap. Its `malloc` and `free` have other names here; its other
 * functions, such as `calloc` and `aligned_alloc`, call those of this file. */
#include <stddef.h>
#include <stdint.h>

void *heap_malloc(size_t size);
void heap_free(void *memory);
void *heap_realloc(void *memory, size_t wanted);

enum {
    HEADER = 8,
    ALIGNMENT = 16,
    SMALLEST = 32,
    LARGEST = 512,
    LARGE_REQUEST = 64 << 10,
    KEPT = 16 << 20,
    KEPT_AT_LARGE_REQUEST = 1 << 20,
};

struct kept {
    struct kept *next;
};

static struct kept *lists[LARGEST / ALIGNMENT + 1];
static size_t kept_bytes;

static void return_all(void)
{
    for (size_t i = 0; i <= LARGEST / ALIGNMENT; i++) {
        while (lists[i]) {
            struct kept *block = lists[i];
            lists[i] = block->next;
            heap_free(block);
        }
    }
    kept_bytes = 0;
}

void *malloc(size_t wanted)
{
    if (wanted <= LARGEST - HEADER) {
        size_t size = (wanted + HEADER + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
        size = size < SMALLEST ? SMALLEST : size;
        struct kept *block = lists[size / ALIGNMENT];
        if (block) {
            lists[size / ALIGNMENT] = block->next;
            kept_bytes -= size;
            return block;
        }
    }
    if (kept_bytes > (wanted < LARGE_REQUEST ? KEPT : KEPT_AT_LARGE_REQUEST))
        return_all();
    void *memory = heap_malloc(wanted);
    if (!memory && kept_bytes) {
        return_all();
        memory = heap_malloc(wanted);
    }
    return memory;
}

void free(void *memory)
{
    if (!memory)
        return;
    /* The header of a used block is its size. */
    uint32_t size = ((uint32_t *)memory)[-1];
    if (size > LARGEST) {
        heap_free(memory);
        return;
    }
    struct kept *block = memory;
    block->next = lists[size / ALIGNMENT];
    lists[size / ALIGNMENT] = block;
    kept_bytes += size;
}

/* As in glibc, a size of 0 frees the block. */
void *realloc(void *memory, size_t wanted)
{
    if (!memory || wanted)
        return heap_realloc(memory, wanted);
    free(memory);
    return NULL;
}
