/* The allocator, which replaces that of the C library. The C library rounds
 * every block up to a power of two and does not reuse freed memory for other
 * sizes, so CPython's 256 KiB arenas would take 512 KiB each, and a growing
 * list several times twice its size. Half of a memory limit would be wasted.
 *
 * Blocks are segregated by size in two levels (TLSF: M. Masmano et al.,
 * "TLSF: a New Dynamic Memory Allocator for Real-Time Systems", 2004), found
 * and freed in constant time, and merged with free neighbours. The heap is one
 * contiguous range that grows at its end. A block at the end grows in place.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum {
    ALIGNMENT = 16,
    HEADER = 8,
    SMALLEST = 32,
    SMALLEST_LOG2 = 5,
    STEPS_LOG2 = 4,
    STEPS = 1 << STEPS_LOG2,
    CLASSES = 32 - SMALLEST_LOG2,
    PAGE = 65536,
    GROWTH_PAGES = 16,
};

/* A guest can have its own `malloc` and `free` in front of these. */
#ifndef HEAP_MALLOC
#define HEAP_MALLOC malloc
#define HEAP_FREE free
#else
void HEAP_FREE(void *memory);
#endif

#define FREE 1u
#define LARGEST 0x7fff0000u

/* Header of a block, 8 bytes before an aligned address. `before` is the address
 * of the block before it, which has 32 bits even in 64-bit guests. `next` and
 * `previous` belong to the program's memory unless the block is free. The last
 * block of the heap is a header of size 0 that is never free. */
struct block {
    uint32_t before;
    uint32_t size_and_free;
    struct block *next;
    struct block *previous;
};

#ifdef ARENA_BYTES
/* Memory for what is allocated before `malloc_continue`. */
static _Alignas(16) char arena[ARENA_BYTES];
#else
extern char __heap_base;
#endif

static struct block *lists[CLASSES][STEPS];
static uint32_t classes_in_use;
static uint32_t steps_in_use[CLASSES];
static struct block *last;

/* The bytes from here to `last` were never written, so they are still zero. */
static char *untouched;

/* Value of `untouched` when the last block was allocated. */
static char *zero_from;

static uint32_t size_of(const struct block *block) { return block->size_and_free & ~FREE; }
static int is_free(const struct block *block) { return block->size_and_free & FREE; }
static void *memory_of(struct block *block) { return (char *)block + HEADER; }
static struct block *block_of(void *memory) { return (struct block *)((char *)memory - HEADER); }
static struct block *after(struct block *block)
{
    return (struct block *)((char *)block + size_of(block));
}

static struct block *before(const struct block *block)
{
    return (struct block *)(uintptr_t)block->before;
}
static void set_before(struct block *block, struct block *other)
{
    block->before = (uint32_t)(uintptr_t)other;
}

static void touch(void *end)
{
    if ((char *)end > untouched) {
        untouched = end;
    }
}

static uint32_t log2_of(uint32_t size) { return 31 - (uint32_t)__builtin_clz(size); }

/* Returns the block size for a request, or 0 if it is too large. */
static uint32_t block_size(size_t wanted)
{
    if (wanted > LARGEST) {
        return 0;
    }
    uint32_t size = ((uint32_t)wanted + HEADER + ALIGNMENT - 1) & ~(uint32_t)(ALIGNMENT - 1);
    return size < SMALLEST ? SMALLEST : size;
}

static void list_of(uint32_t size, uint32_t *class, uint32_t *step)
{
    uint32_t log2 = log2_of(size);
    *class = log2 - SMALLEST_LOG2;
    *step = (size >> (log2 - STEPS_LOG2)) & (STEPS - 1);
}

static void enlist(struct block *block)
{
    uint32_t class, step;
    list_of(size_of(block), &class, &step);
    block->size_and_free |= FREE;
    block->previous = NULL;
    block->next = lists[class][step];
    if (block->next) {
        block->next->previous = block;
    }
    lists[class][step] = block;
    steps_in_use[class] |= 1u << step;
    classes_in_use |= 1u << class;
    touch(block + 1);
}

static void delist(struct block *block)
{
    uint32_t class, step;
    list_of(size_of(block), &class, &step);
    block->size_and_free &= ~FREE;
    if (block->next) {
        block->next->previous = block->previous;
    }
    if (block->previous) {
        block->previous->next = block->next;
        return;
    }
    lists[class][step] = block->next;
    if (!block->next) {
        steps_in_use[class] &= ~(1u << step);
        if (!steps_in_use[class]) {
            classes_in_use &= ~(1u << class);
        }
    }
}

/* Returns a free block of at least `size`: from the lists that contain only
 * blocks of this size or more, or else from the list that contains some. */
static struct block *find(uint32_t size)
{
    uint32_t class, step;
    list_of(size + (1u << (log2_of(size) - STEPS_LOG2)) - 1, &class, &step);
    uint32_t steps = class < CLASSES ? steps_in_use[class] & (~0u << step) : 0;
    if (!steps) {
        uint32_t classes = class + 1 < CLASSES ? classes_in_use & (~0u << (class + 1)) : 0;
        if (classes) {
            class = (uint32_t)__builtin_ctz(classes);
            steps = steps_in_use[class];
        }
    }
    if (steps) {
        return lists[class][__builtin_ctz(steps)];
    }
    list_of(size, &class, &step);
    struct block *block = lists[class][step];
    while (block && size_of(block) < size) {
        block = block->next;
    }
    return block;
}

/* Returns the part of a used block beyond `size` to the lists. */
static void trim(struct block *block, uint32_t size)
{
    uint32_t rest = size_of(block) - size;
    if (rest < SMALLEST) {
        return;
    }
    block->size_and_free = size;
    struct block *tail = after(block);
    set_before(tail, block);
    tail->size_and_free = rest;
    struct block *next = after(tail);
    if (is_free(next)) {
        delist(next);
        tail->size_and_free += size_of(next);
        next = after(tail);
    }
    set_before(next, tail);
    enlist(tail);
}

/* Turns the bytes from `last` to `end` into a free block. */
static void extend(char *end)
{
    struct block *block = last;
    last = (struct block *)(end - HEADER);
    last->size_and_free = 0;
    block->size_and_free = (uint32_t)((char *)last - (char *)block);
    if (block->before && is_free(before(block))) {
        struct block *joined = before(block);
        delist(joined);
        joined->size_and_free += size_of(block);
        if ((char *)block >= untouched) {
            memset(block, 0, HEADER);
        }
        block = joined;
    }
    set_before(last, block);
    enlist(block);
}

/* Begins a heap from `base` to `end`. */
static void begin(char *base, char *end)
{
    uintptr_t first = ((uintptr_t)base + HEADER + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1);
    last = (struct block *)(first - HEADER);
    last->before = 0;
    untouched = (char *)last;
    if (end - (char *)last >= SMALLEST + HEADER) {
        extend(end);
    }
}

static char *end_of_memory(void) { return (char *)(__builtin_wasm_memory_size(0) * PAGE); }

static void start(void)
{
#ifdef ARENA_BYTES
    begin(arena, arena + ARENA_BYTES);
#else
    begin(&__heap_base, end_of_memory());
#endif
}

/* Continues the heap in the unused memory after `base`. What is free before it
 * stays available. */
void malloc_continue(char *base)
{
    if (!last) {
        start();
    }
    begin(base, end_of_memory());
}

/* Grows the memory until a block of `size` fits at its end. */
static int grow(uint32_t size)
{
    uint32_t there = last->before && is_free(before(last)) ? size_of(before(last)) : 0;
    uint32_t pages = (size - (there < size ? there : size) + PAGE - 1) / PAGE;
    uint32_t asked = pages < GROWTH_PAGES ? GROWTH_PAGES : pages;
    size_t old = __builtin_wasm_memory_grow(0, asked);
    if (old == (size_t)-1 && asked > pages) {
        asked = pages;
        old = __builtin_wasm_memory_grow(0, asked);
    }
    if (old == (size_t)-1) {
        return 0;
    }
    /* A rest that was too small for a block may lie between `last` and the old end. */
    if ((char *)(old * PAGE) - ((char *)last + HEADER) >= SMALLEST) {
        abort();
    }
    /* The last page of a 4 GiB memory is left unused: its end is not an address. */
    extend((char *)((old + asked == PAGE ? old + asked - 1 : old + asked) * PAGE));
    return 1;
}

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

void *HEAP_MALLOC(size_t wanted)
{
    uint32_t size = block_size(wanted);
    if (!size) {
        return no_memory();
    }
    if (!last) {
        start();
    }
    struct block *block = find(size);
    while (!block) {
        if (!grow(size)) {
            return no_memory();
        }
        block = find(size);
    }
    delist(block);
    zero_from = untouched;
    trim(block, size);
    touch(after(block));
    return memory_of(block);
}

void HEAP_FREE(void *memory)
{
    if (!memory) {
        return;
    }
    struct block *block = block_of(memory);
    struct block *next = after(block);
    if (is_free(next)) {
        delist(next);
        block->size_and_free += size_of(next);
    }
    if (block->before && is_free(before(block))) {
        struct block *joined = before(block);
        delist(joined);
        joined->size_and_free += size_of(block);
        block = joined;
    }
    set_before(after(block), block);
    enlist(block);
}

void *calloc(size_t count, size_t each)
{
    size_t wanted;
    if (__builtin_mul_overflow(count, each, &wanted)) {
        return no_memory();
    }
    /* If the block does not come from the heap, all of it was used before. */
    zero_from = (char *)UINTPTR_MAX;
    char *memory = malloc(wanted);
    if (memory && memory < zero_from) {
        memset(memory, 0, memory + wanted < zero_from ? wanted : (size_t)(zero_from - memory));
    }
    return memory;
}

/* Extends a block into the free block after it, growing the memory at its end if needed. */
static int widen(struct block *block, uint32_t size)
{
    struct block *next = after(block);
    uint32_t room = size_of(block) + (is_free(next) ? size_of(next) : 0);
    int at_end = next == last || (is_free(next) && after(next) == last);
    if (room < size && (!at_end || !grow(size - size_of(block)))) {
        return 0;
    }
    next = after(block);
    delist(next);
    block->size_and_free += size_of(next);
    set_before(after(block), block);
    trim(block, size);
    touch(after(block));
    return 1;
}

void *realloc(void *memory, size_t wanted)
{
    if (!memory) {
        return malloc(wanted);
    }
    uint32_t size = block_size(wanted);
    if (!size) {
        return no_memory();
    }
    struct block *block = block_of(memory);
    if (size <= size_of(block)) {
        trim(block, size);
        return memory;
    }
    if (widen(block, size)) {
        return memory;
    }
    void *moved = malloc(wanted);
    if (moved) {
        memcpy(moved, memory, size_of(block) - HEADER);
        free(memory);
    }
    return moved;
}

void *aligned_alloc(size_t alignment, size_t wanted)
{
    if (alignment <= ALIGNMENT) {
        return malloc(wanted);
    }
    char *memory = wanted <= LARGEST - alignment - SMALLEST ? malloc(wanted + alignment + SMALLEST)
                                                            : no_memory();
    if (!memory || (uintptr_t)memory % alignment == 0) {
        return memory;
    }
    /* The part before the aligned address becomes a separate free block. */
    uintptr_t aligned =
        ((uintptr_t)memory + SMALLEST + alignment - 1) & ~(uintptr_t)(alignment - 1);
    struct block *front = block_of(memory);
    struct block *block = block_of((void *)aligned);
    uint32_t cut = (uint32_t)((char *)block - (char *)front);
    set_before(block, front);
    block->size_and_free = size_of(front) - cut;
    set_before(after(block), block);
    front->size_and_free = cut;
    HEAP_FREE(memory);
    return memory_of(block);
}

int posix_memalign(void **memory, size_t alignment, size_t wanted)
{
    *memory = aligned_alloc(alignment, wanted);
    return *memory || !wanted ? 0 : ENOMEM;
}

size_t malloc_usable_size(void *memory) { return memory ? size_of(block_of(memory)) - HEADER : 0; }

/* In the C library, these functions are in the same object as its allocator and
 * bound to it, so `free` would receive blocks of the other allocator. */
char *strndup(const char *text, size_t most)
{
    size_t length = strnlen(text, most);
    char *copy = malloc(length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = 0;
    }
    return copy;
}

char *strdup(const char *text) { return strndup(text, strlen(text)); }

wchar_t *wcsdup(const wchar_t *text)
{
    size_t size = (wcslen(text) + 1) * sizeof(wchar_t);
    wchar_t *copy = malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}
