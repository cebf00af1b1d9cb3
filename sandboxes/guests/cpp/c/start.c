/* The entry point of each program, which is linked into it. */

extern char __heap_base;

void __wasm_call_ctors(void);
_Noreturn void assay_start(char *heap, void (*constructors)(void), int (*main)(int, char **));

/* The compiler calls `main` by one of two names. This one is replaced if it has no parameters. */
int __main_argc_argv(int count, char **arguments);

static int count;
static char **list;

__attribute__((weak)) int __main_void(void) { return __main_argc_argv(count, list); }

static int call_main(int argument_count, char **arguments)
{
    count = argument_count;
    list = arguments;
    return __main_void();
}

__attribute__((export_name("_start"))) void _start(void)
{
    assay_start(&__heap_base, __wasm_call_ctors, call_main);
}
