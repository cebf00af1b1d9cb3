/*
 * Replacement for a CUDA library that opens the real library on the first call.
 *
 * A binary that is linked with this instead of `libcuda` and related libraries starts on machines
 * without CUDA, because it does not depend on any CUDA library. Each function of the real library
 * has a trampoline here, which jumps to the address in `addresses`. The first call looks up the
 * address. Arguments are passed on unchanged, whatever their number and types.
 *
 * Compiled once for each library. ENTRIES is a file of lines `ENTRY(index, function, absence)`.
 * `absence` is called if the function cannot be found: `failure` returns STATUS, the library's
 * status code for an error; `nothing` returns 0, for functions that return a pointer, a size or
 * nothing. LIBRARY is the name of the real library, which the dynamic linker searches in
 * LD_LIBRARY_PATH and the system's cache.
 */
#if !defined(__linux__) || !defined(__x86_64__)
#error "the trampolines are written for Linux on x86_64"
#endif

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static intptr_t failure(void)
{
    return STATUS;
}

__attribute__((unused)) static intptr_t nothing(void)
{
    return 0;
}

struct function {
    const char *name;
    intptr_t (*absence)(void);
};

#define ENTRY(index, function, absence) { #function, absence },
static const struct function functions[] = {
#include ENTRIES
};
#undef ENTRY

/* Address of each function; 0 until its first call. */
__attribute__((used)) static void *addresses[sizeof functions / sizeof functions[0]];

static void *library;
static pthread_once_t opening = PTHREAD_ONCE_INIT;

static void open_library(void)
{
    library = dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL)
        fprintf(stderr, "no CUDA: %s\n", dlerror());
}

/* Returns the address of a function, or of its `absence` function if it cannot be found. */
__attribute__((used)) static void *look_up(uint32_t index)
{
    const struct function *function = &functions[index];
    void *address = NULL;

    pthread_once(&opening, open_library);
    if (library != NULL) {
        address = dlsym(library, function->name);
        if (address == NULL)
            fprintf(stderr, "CUDA too old: %s has no `%s`\n", LIBRARY, function->name);
    }
    if (address == NULL)
        address = (void *)function->absence;
    __atomic_store_n(&addresses[index], address, __ATOMIC_RELEASE);
    return address;
}

#define ENTRY(index, function, absence)         \
    __asm__(".pushsection .text\n"              \
            ".globl " #function "\n"            \
            ".type " #function ", @function\n"  \
            #function ":\n"                     \
            "movq addresses + 8 * " #index "(%rip), %r11\n" \
            "testq %r11, %r11\n"                \
            "jz 1f\n"                           \
            "jmp *%r11\n"                       \
            "1: movl $" #index ", %r11d\n"      \
            "jmp first_call\n"                  \
            ".size " #function ", . - " #function "\n" \
            ".popsection");
#include ENTRIES
#undef ENTRY

/* Saves all registers that can contain arguments. The return address and seven pushes keep the
   stack aligned for the call of `look_up`. */
__asm__(".pushsection .text\n"
        ".type first_call, @function\n"
        "first_call:\n"
        "pushq %rdi\n"
        "pushq %rsi\n"
        "pushq %rdx\n"
        "pushq %rcx\n"
        "pushq %r8\n"
        "pushq %r9\n"
        "pushq %rax\n"
        "subq $128, %rsp\n"
        "movups %xmm0, (%rsp)\n"
        "movups %xmm1, 16(%rsp)\n"
        "movups %xmm2, 32(%rsp)\n"
        "movups %xmm3, 48(%rsp)\n"
        "movups %xmm4, 64(%rsp)\n"
        "movups %xmm5, 80(%rsp)\n"
        "movups %xmm6, 96(%rsp)\n"
        "movups %xmm7, 112(%rsp)\n"
        "movl %r11d, %edi\n"
        "call look_up\n"
        "movq %rax, %r11\n"
        "movups (%rsp), %xmm0\n"
        "movups 16(%rsp), %xmm1\n"
        "movups 32(%rsp), %xmm2\n"
        "movups 48(%rsp), %xmm3\n"
        "movups 64(%rsp), %xmm4\n"
        "movups 80(%rsp), %xmm5\n"
        "movups 96(%rsp), %xmm6\n"
        "movups 112(%rsp), %xmm7\n"
        "addq $128, %rsp\n"
        "popq %rax\n"
        "popq %r9\n"
        "popq %r8\n"
        "popq %rcx\n"
        "popq %rdx\n"
        "popq %rsi\n"
        "popq %rdi\n"
        "jmp *%r11\n"
        ".size first_call, . - first_call\n"
        ".popsection");
