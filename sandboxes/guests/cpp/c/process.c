/* Start and end of a process. The library and the program are separate modules with one memory. The
 * library is initialised when the image is built, and its memory is saved. For each run, the
 * program's `_start` (`start.c`) calls `assay_start`. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wasi/api.h>

/* The status that a shell reports for a process that SIGABRT ended. */
enum { ABORTED = 128 + 6 };

/* What the program passes to `assay_start`; `start.c` has the same structure. */
struct program {
    char *heap;
    void (*constructors)(void);
    int (*main)(int, char **);
    void *(*replaced_new)(size_t);
    void (*replaced_delete)(void *);
};

extern void *(*assay_replaced_new)(size_t);
extern void (*assay_replaced_delete)(void *);

void malloc_continue(char *base);
void __wasm_call_ctors(void);
int assay_call_main(int (*main)(int, char **), int count, char **arguments);
void assay_call_constructors(void (*constructors)(void));

/* Runs the constructors of the library, before its memory is saved. */
__attribute__((export_name("_initialize"))) void assay_construct(void) { __wasm_call_ctors(); }

static char **arguments_of(int *count)
{
    static char *none[] = {"program", NULL};
    size_t found, size;
    *count = 1;
    if (__wasi_args_sizes_get(&found, &size) || !found)
        return none;
    char **list = malloc((found + 1) * sizeof(char *));
    char *text = malloc(size);
    if (!list || !text || __wasi_args_get((uint8_t **)list, (uint8_t *)text))
        return none;
    list[found] = NULL;
    *count = (int)found;
    return list;
}

/* Destructors of thread-local objects, which are called before those of static ones. */
struct destructor {
    struct destructor *earlier;
    void (*function)(void *);
    void *object;
};

static struct destructor *destructors;

int __cxa_thread_atexit(void (*function)(void *), void *object, void *module)
{
    struct destructor *added = malloc(sizeof *added);
    if (!added)
        return -1;
    *added = (struct destructor){destructors, function, object};
    destructors = added;
    return 0;
}

/* `exit` calls it first. */
void assay_destroy_thread_locals(void)
{
    while (destructors) {
        struct destructor last = *destructors;
        free(destructors);
        destructors = last.earlier;
        last.function(last.object);
    }
}

_Noreturn void assay_start(const struct program *program)
{
    int count;
    malloc_continue(program->heap);
    assay_replaced_new = program->replaced_new;
    assay_replaced_delete = program->replaced_delete;
    char **arguments = arguments_of(&count);
    assay_call_constructors(program->constructors);
    exit(assay_call_main(program->main, count, arguments));
}

/* Ends a run of a program without `main`. */
_Noreturn void assay_no_main(void)
{
    fputs("the program has no `main`\n", stderr);
    exit(EXIT_FAILURE);
}

_Noreturn void abort(void)
{
    void (*handler)(int) = signal(SIGABRT, SIG_DFL);
    if (handler != SIG_DFL && handler != SIG_IGN && handler != SIG_ERR)
        handler(SIGABRT);
    _Exit(ABORTED);
}

_Noreturn void __assert_fail(const char *expression, const char *file, int line,
                             const char *function)
{
    fprintf(stderr, "%s:%d: %s: Assertion `%s' failed.\n", file, line, function, expression);
    abort();
}

/* The allocator owns the end of the memory. */
void *sbrk(intptr_t increment)
{
    if (increment == 0)
        return (void *)(__builtin_wasm_memory_size(0) * 65536);
    errno = ENOMEM;
    return (void *)-1;
}

/* There are no other processes. */
int system(const char *command)
{
    if (!command)
        return 0;
    errno = ENOSYS;
    return -1;
}

/* No header declares it. */
int mkstemp(char *name);

/* The file remains, because the sandbox does not keep files that are removed while open. */
FILE *tmpfile(void)
{
    char name[] = "tmpfile_XXXXXX";
    int file = mkstemp(name);
    return file < 0 ? NULL : fdopen(file, "w+");
}
