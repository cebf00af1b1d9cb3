/* The host tool `freeze NAME SOURCE OUTPUT`: compiles a module as
 * `<frozen NAME>` and writes its marshalled code. It consists of the core of
 * CPython without any library, so its output depends only on the source.
 */
#include "Python.h"
#include "marshal.h"
#include "pycore_import.h"

#include <stdio.h>
#include <stdlib.h>

static const struct _frozen no_modules[] = {{0, 0, 0}};
static const struct _module_alias no_aliases[] = {{0, 0}};
const struct _frozen *_PyImport_FrozenBootstrap = no_modules;
const struct _frozen *_PyImport_FrozenStdlib = no_modules;
const struct _frozen *_PyImport_FrozenTest = no_modules;
const struct _frozen *PyImport_FrozenModules = NULL;
const struct _module_alias *_PyImport_FrozenAliases = no_aliases;

extern PyObject *PyInit__imp(void);
extern PyObject *_PyWarnings_Init(void);
struct _inittab _PyImport_Inittab[] = {
    {"_imp", PyInit__imp},
    {"_warnings", _PyWarnings_Init},
    {"builtins", NULL},
    {"sys", NULL},
    {0, 0},
};

static void fail(const char *what, const char *about)
{
    fprintf(stderr, "%s `%s`\n", what, about);
    if (PyErr_Occurred()) {
        PyErr_Print();
    }
    exit(1);
}

static void start(void)
{
    PyConfig config;
    PyConfig_InitIsolatedConfig(&config);
    config.site_import = 0;
    config.use_hash_seed = 1;
    config.hash_seed = 0;
    config._install_importlib = 0;
    config._init_main = 0;
    PyStatus status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status)) {
        Py_ExitStatusException(status);
    }
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        fail("cannot read", path);
    }
    long size = ftell(file);
    char *text = calloc(1, (size_t)size + 1);
    rewind(file);
    if (!text || fread(text, 1, (size_t)size, file) != (size_t)size) {
        fail("cannot read", path);
    }
    fclose(file);
    return text;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fail("usage: freeze NAME SOURCE OUTPUT, not", argv[0]);
    }
    start();
    char filename[512];
    snprintf(filename, sizeof filename, "<frozen %s>", argv[1]);
    PyObject *code = Py_CompileStringExFlags(read_text(argv[2]), filename, Py_file_input, NULL, 0);
    PyObject *marshalled = code ? PyMarshal_WriteObjectToString(code, Py_MARSHAL_VERSION) : NULL;
    if (!marshalled) {
        fail("cannot compile", argv[2]);
    }
    size_t size = (size_t)PyBytes_GET_SIZE(marshalled);
    FILE *out = fopen(argv[3], "wb");
    if (!out || fwrite(PyBytes_AS_STRING(marshalled), 1, size, out) != size || fclose(out) != 0) {
        fail("cannot write", argv[3]);
    }
    return 0;
}
