/* The interface of the image: the functions that the host calls, and the
 * functions that the image imports from the host. Everything else is Python
 * code in the frozen package `_assay`.
 *
 * The host calls `_initialize` and `initialize` once, before the snapshot.
 * Then, for each request, it calls `allocate`, writes the request there, and
 * calls `handle`; the answer is at `reply_pointer`, `reply_length` bytes long,
 * until the next `handle`.
 */
#include "Python.h"

#include <stdio.h>
#include <stdlib.h>

#define EXPORT(name) __attribute__((export_name(#name), visibility("default")))
#define IMPORT(name) __attribute__((import_module("assay"), import_name(#name)))

enum { FINE = 0, RAISED = 1 };

/* Sends a message to the host and returns the length of its answer. */
IMPORT(exchange) uint32_t host_exchange(const char *message, uint32_t length);

/* Copies the answer to the last message to `target`. */
IMPORT(fetch) void host_fetch(char *target);

/* In `immortal.c`. */
extern void assay_make_immortal(void);

/* A function of the C library that no header declares. */
extern void __wasilibc_reset_preopens(void);

static PyObject *handle_function;
static PyObject *reply;

static PyObject *exchange(PyObject *module, PyObject *message)
{
    (void)module;
    char *data;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(message, &data, &length) < 0) {
        return NULL;
    }
    uint32_t answer_length = host_exchange(data, (uint32_t)length);
    PyObject *answer = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)answer_length);
    if (answer) {
        host_fetch(PyBytes_AS_STRING(answer));
    }
    return answer;
}

static PyMethodDef host_methods[] = {
    {"exchange", exchange, METH_O, "exchange(message: bytes) -> bytes, answered by the host."},
    {0},
};

static struct PyModuleDef host_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_assay_host",
    .m_size = -1,
    .m_methods = host_methods,
};

static void stop(const char *what)
{
    fprintf(stderr, "the image does not start: %s\n", what);
    if (PyErr_Occurred()) {
        PyErr_Print();
    }
    abort();
}

static void check(PyStatus status)
{
    if (PyStatus_Exception(status)) {
        stop(status.err_msg ? status.err_msg : "no reason given");
    }
}

static void start_python(void)
{
    PyPreConfig before;
    PyPreConfig_InitIsolatedConfig(&before);
    before.utf8_mode = 1;
    check(Py_PreInitialize(&before));

    PyConfig config;
    PyConfig_InitIsolatedConfig(&config);
    config.use_hash_seed = 1;
    config.hash_seed = 0;
    config.site_import = 0;
    config.install_signal_handlers = 0;
    config.write_bytecode = 0;
    config.parse_argv = 0;
    config.int_max_str_digits = 0;
    config.use_frozen_modules = 1;
    config.module_search_paths_set = 1;
    check(PyConfig_SetString(&config, &config.program_name, L"python3"));
    check(PyConfig_SetString(&config, &config.executable, L""));
    check(PyConfig_SetString(&config, &config.base_executable, L""));
    check(PyConfig_SetString(&config, &config.platlibdir, L"lib"));
    check(PyConfig_SetString(&config, &config.prefix, L"/"));
    check(PyConfig_SetString(&config, &config.exec_prefix, L"/"));
    check(PyConfig_SetString(&config, &config.base_prefix, L"/"));
    check(PyConfig_SetString(&config, &config.base_exec_prefix, L"/"));
    check(PyConfig_SetString(&config, &config.stdio_encoding, L"utf-8"));
    check(PyConfig_SetString(&config, &config.stdio_errors, L"surrogateescape"));
    check(Py_InitializeFromConfig(&config));
    PyConfig_Clear(&config);
}

/* Imports the driver. `_assay_host` exists only during this import. It is in no
 * table of modules, so that no later import finds it. */
static PyObject *import_driver(void)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *host = PyModule_Create(&host_module);
    if (!host || PyDict_SetItemString(modules, "_assay_host", host) < 0) {
        return NULL;
    }
    Py_DECREF(host);
    PyObject *driver = PyImport_ImportModule("_assay");
    if (!driver || PyDict_PopString(modules, "_assay_host", NULL) < 0) {
        return NULL;
    }
    PyObject *function = PyObject_GetAttrString(driver, "handle");
    Py_DECREF(driver);
    return function;
}

EXPORT(initialize) void initialize(void)
{
    start_python();
    handle_function = import_driver();
    if (!handle_function) {
        stop("the driver does not import");
    }
    assay_make_immortal();
    /* The folders of the host are determined again when a path is first used:
     * the folders of the process that made the snapshot are not those of a run. */
    __wasilibc_reset_preopens();
}

EXPORT(allocate) void *allocate(uint32_t size) { return malloc(size ? size : 1); }

/* Returns the exception as UTF-8 text, or the name of its type if memory is
 * exhausted. Clears the exception. */
static PyObject *text_of_exception(void)
{
    PyObject *raised = PyErr_GetRaisedException();
    PyObject *traceback = PyImport_ImportModule("traceback");
    PyObject *lines =
        traceback ? PyObject_CallMethod(traceback, "format_exception", "O", raised) : NULL;
    PyObject *empty = lines ? PyUnicode_FromString("") : NULL;
    PyObject *text = empty ? PyUnicode_Join(empty, lines) : NULL;
    PyObject *encoded = text ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace") : NULL;
    Py_XDECREF(text);
    Py_XDECREF(empty);
    Py_XDECREF(lines);
    Py_XDECREF(traceback);
    if (!encoded) {
        PyErr_Clear();
        encoded = PyBytes_FromString(Py_TYPE(raised)->tp_name);
    }
    PyErr_Clear();
    Py_DECREF(raised);
    return encoded;
}

static PyObject *answer_to(char *request, uint32_t length)
{
    PyObject *message = PyBytes_FromStringAndSize(request, (Py_ssize_t)length);
    free(request);
    if (!message) {
        return NULL;
    }
    PyObject *answer = PyObject_CallOneArg(handle_function, message);
    Py_DECREF(message);
    if (answer && !PyBytes_Check(answer)) {
        PyErr_Format(PyExc_TypeError, "`handle` returned %s, not bytes", Py_TYPE(answer)->tp_name);
        Py_CLEAR(answer);
    }
    return answer;
}

EXPORT(handle) int32_t handle(char *request, uint32_t length)
{
    Py_CLEAR(reply);
    reply = answer_to(request, length);
    if (reply) {
        return FINE;
    }
    reply = text_of_exception();
    return RAISED;
}

EXPORT(reply_pointer) const char *reply_pointer(void)
{
    return reply ? PyBytes_AS_STRING(reply) : NULL;
}

EXPORT(reply_length) uint32_t reply_length(void)
{
    return reply ? (uint32_t)PyBytes_GET_SIZE(reply) : 0;
}
