/* The entry points of each program, which is linked into it. It is compiled twice: with CALLS for
 * programs whose functions tests call. */
#include <stddef.h>

extern char __heap_base;

/* What the program passes to `assay_start`; `process.c` has the same structure. */
struct program {
    char *heap;
    void (*constructors)(void);
    int (*main)(int, char **);
    void *(*replaced_new)(size_t);
    void (*replaced_delete)(void *);
};

void __wasm_call_ctors(void);
_Noreturn void assay_start(const struct program *program);
void *assay_new(size_t size);
_Noreturn void assay_no_main(void);
void *malloc(size_t size);
void free(void *memory);

/* The usual forms of `main`, for which the compiler has two names. The second one is replaced if
 * `main` has no parameters, or by `main.c`. */
int __main_argc_argv(int count, char **arguments);

int assay_argument_count;
char **assay_arguments;

__attribute__((weak)) int __main_void(void)
{
    return __main_argc_argv(assay_argument_count, assay_arguments);
}

static int call_main(int count, char **arguments)
{
    assay_argument_count = count;
    assay_arguments = arguments;
    return __main_void();
}

/* `operator new` and `operator delete`, unless the program has its own. The functions of the
 * library must then use them, too, since either may free what the other has allocated. */
static void *default_new(size_t size)
{
    void *memory = malloc(size);
    return memory ? memory : assay_new(size);
}
static void default_delete(void *memory) { free(memory); }

void *_Znwm(size_t size) __attribute__((weak, alias("default_new")));
void _ZdlPv(void *memory) __attribute__((weak, alias("default_delete")));

static void start(int (*main)(int, char **))
{
    struct program program = {
        .heap = &__heap_base,
        .constructors = __wasm_call_ctors,
        .main = main,
        .replaced_new = _Znwm == default_new ? NULL : _Znwm,
        .replaced_delete = _ZdlPv == default_delete ? NULL : _ZdlPv,
    };
    assay_start(&program);
}

__attribute__((export_name("_start"))) void _start(void) { start(call_main); }

#ifdef CALLS

/* Calls the function that the arguments name. The host defines it (`call.cpp`, `call.c`). */
int assay_call_function(int count, char **arguments);

__attribute__((export_name("_call"))) void _call(void) { start(assay_call_function); }

/* A program whose functions are called needs no `main`, except for tests of its output. */
__attribute__((weak)) int __main_argc_argv(int count, char **arguments) { assay_no_main(); }

#endif
