/* Calls a `main` of another type than `int main(void)` and `int main(int, char **)`, which GCC
 * accepts. It is compiled once for each type, and linked in addition to `start.c`. */

extern int assay_argument_count;
extern char **assay_arguments;
char **__wasilibc_get_environ(void);

RESULT called(PARAMETERS) __asm__(NAME);

int __main_void(void)
{
    int count = assay_argument_count;
    char **arguments = assay_arguments;
    char **environment = __wasilibc_get_environ();
    (void)count, (void)arguments, (void)environment;
    return STATUS(called(ARGUMENTS));
}
