/* The interface of the image: the functions that the host calls, and the module loader.
 * Everything else is in `driver/`, `node/` and `host.c`.
 *
 * The host calls `_initialize` and `initialize` once, before the snapshot. Then, for each request,
 * it calls `allocate`, writes the request there, and calls `handle`; the answer is at
 * `reply_pointer`, `reply_length` bytes long, until the next `handle`.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "host.h"
#include "scripts.h"

#define EXPORT(name) __attribute__((export_name(#name), visibility("default")))

enum { FINE = 0, RAISED = 1 };

/* Part of the C stack that the engine may use. The linker reserves more (`quickjs.py`), so that the
 * engine's own check takes effect first. */
enum { STACK = 15 << 20 };

/* Bytes of objects at which cycles are collected for the first time. Collecting touches all
 * objects, including those of the snapshot. */
enum { FIRST_COLLECTION = 24 << 20 };

/* A function of the C library that no header declares. */
extern void __wasilibc_reset_preopens(void);

JSContext *driver_realm;
JSContext *program_realm;
JSValue library_function = JS_UNDEFINED;

static JSValue handle_function = JS_UNDEFINED;
static JSValue reply = JS_UNDEFINED;
static const uint8_t *reply_bytes;
static size_t reply_size;

/* Whether the modules of this folder can be imported: only before the snapshot. */
static int is_starting = 1;

static void stop(JSContext *ctx, const char *what)
{
    JSValue error = JS_GetException(ctx);
    const char *text = JS_ToCString(ctx, error);
    JSValue stack = JS_GetPropertyStr(ctx, error, "stack");
    const char *frames = JS_ToCString(ctx, stack);
    fprintf(stderr, "the image does not start: %s: %s\n%s\n", what, text, frames);
    abort();
}

static const struct script *script_named(const char *name)
{
    for (const struct script *script = scripts; script->name; script++) {
        if (strcmp(script->name, name) == 0) {
            return script;
        }
    }
    return NULL;
}

/* Relative names refer to scripts, or to files of the task, whose names become absolute. */
static char *normalize(JSContext *ctx, const char *base, const char *name, void *opaque)
{
    if (name[0] != '.' || is_compiling) {
        return js_strdup(ctx, name);
    }
    const char *slash = strrchr(base, '/');
    size_t folder = slash ? (size_t)(slash - base) + 1 : 0;
    while (strncmp(name, "../", 3) == 0 && folder > 0) {
        name += 3;
        for (folder--; folder > 0 && base[folder - 1] != '/';) {
            folder--;
        }
    }
    name += strncmp(name, "./", 2) == 0 ? 2 : 0;
    bool is_file = !is_starting && (folder == 0 || base[0] != '/');
    char *joined = js_malloc(ctx, is_file + folder + strlen(name) + 1);
    if (joined) {
        joined[0] = '/';
        memcpy(joined + is_file, base, folder);
        strcpy(joined + is_file + folder, name);
    }
    return joined;
}

static JSValue library_module(JSContext *ctx, const char *name)
{
    JSValue text = JS_NewString(ctx, name);
    JSValue found = JS_Call(ctx, library_function, JS_UNDEFINED, 1, (JSValueConst *)&text);
    JS_FreeValue(ctx, text);
    return found;
}

static int set_exports(JSContext *ctx, JSModuleDef *module)
{
    JSAtom atom = JS_GetModuleName(ctx, module);
    const char *name = JS_AtomToCString(ctx, atom);
    JS_FreeAtom(ctx, atom);
    JSValue exports = name ? library_module(ctx, name) : JS_EXCEPTION;
    JS_FreeCString(ctx, name);
    JSPropertyEnum *properties;
    uint32_t count;
    if (!JS_IsException(exports) && !JS_IsObject(exports)) {
        return JS_SetModuleExport(ctx, module, "default", exports);
    }
    if (JS_IsException(exports) ||
        JS_GetOwnPropertyNames(ctx, &properties, &count, exports,
                               JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0) {
        return -1;
    }
    for (uint32_t i = 0; i < count; i++) {
        const char *key = JS_AtomToCString(ctx, properties[i].atom);
        if (strcmp(key, "default") != 0) {
            JSValue value = JS_GetProperty(ctx, exports, properties[i].atom);
            JS_SetModuleExport(ctx, module, key, value);
        }
        JS_FreeCString(ctx, key);
    }
    JS_FreePropertyEnum(ctx, properties, count);
    return JS_SetModuleExport(ctx, module, "default", exports);
}

/* A file that is an ES module, from its text. */
static JSModuleDef *load_text(JSContext *ctx, const char *name, JSValue value)
{
    size_t length;
    const char *text = JS_ToCStringLen(ctx, &length, value);
    JS_FreeValue(ctx, value);
    if (!text) {
        return NULL;
    }
    int flags = JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY;
    JSValue code = JS_Eval(ctx, text, length, name, flags);
    JS_FreeCString(ctx, text);
    if (JS_IsException(code)) {
        return NULL;
    }
    JSModuleDef *module = JS_VALUE_GET_PTR(code);
    JS_FreeValue(ctx, code);
    JSValue meta = JS_GetImportMeta(ctx, module);
    char url[512];
    snprintf(url, sizeof(url), "file://%s", name);
    JS_SetPropertyStr(ctx, meta, "url", JS_NewString(ctx, url));
    JS_SetPropertyStr(ctx, meta, "filename", JS_NewString(ctx, name));
    JS_FreeValue(ctx, meta);
    return module;
}

/* A module of the library, such as `fs`, with the properties of its exports as names. */
static JSModuleDef *load_library(JSContext *ctx, const char *name)
{
    JSValue exports = library_module(ctx, name);
    JSPropertyEnum *properties;
    uint32_t count;
    if (JS_IsException(exports)) {
        return NULL;
    }
    if (JS_IsString(exports) && name[0] == '/') {
        return load_text(ctx, name, exports);
    }
    if (!JS_IsObject(exports)) {
        exports = JS_NewObject(ctx);
    }
    if (JS_GetOwnPropertyNames(ctx, &properties, &count, exports,
                               JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0) {
        return NULL;
    }
    JS_FreeValue(ctx, exports);
    JSModuleDef *module = JS_NewCModule(ctx, name, set_exports);
    for (uint32_t i = 0; module && i < count; i++) {
        const char *key = JS_AtomToCString(ctx, properties[i].atom);
        if (strcmp(key, "default") != 0) {
            JS_AddModuleExport(ctx, module, key);
        }
        JS_FreeCString(ctx, key);
    }
    JS_FreePropertyEnum(ctx, properties, count);
    if (module) {
        JS_AddModuleExport(ctx, module, "default");
    }
    return module;
}

static int set_nothing(JSContext *ctx, JSModuleDef *module) { return 0; }

static JSModuleDef *load_module(JSContext *ctx, const char *name, void *opaque)
{
    if (is_compiling) {
        return JS_NewCModule(ctx, name, set_nothing);
    }
    if (!is_starting) {
        return load_library(ctx, name);
    }
    if (strcmp(name, "host") == 0) {
        return assay_host_module(ctx, name);
    }
    const struct script *script = script_named(name);
    if (!script) {
        JS_ThrowReferenceError(ctx, "no script `%s`", name);
        return NULL;
    }
    int flags = JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY;
    JSValue compiled = JS_Eval(ctx, script->text, script->length, name, flags);
    if (JS_IsException(compiled)) {
        return NULL;
    }
    JSModuleDef *module = JS_VALUE_GET_PTR(compiled);
    JS_FreeValue(ctx, compiled);
    return module;
}

/* Runs a script in a realm, with everything that it imports. */
static void run_script(JSContext *ctx, const char *name)
{
    const struct script *script = script_named(name);
    JSValue result = JS_Eval(ctx, script->text, script->length, name, JS_EVAL_TYPE_MODULE);
    if (JS_IsException(result)) {
        stop(ctx, name);
    }
    JSContext *realm = ctx;
    int ran;
    while ((ran = JS_ExecutePendingJob(JS_GetRuntime(ctx), &realm)) > 0) {
    }
    if (ran < 0) {
        stop(realm, name);
    }
    if (JS_PromiseState(ctx, result) == JS_PROMISE_REJECTED) {
        JS_Throw(ctx, JS_PromiseResult(ctx, result));
        stop(ctx, name);
    }
    JS_FreeValue(ctx, result);
}

EXPORT(initialize) void initialize(void)
{
    JSRuntime *runtime = JS_NewRuntime();
    JS_SetMaxStackSize(runtime, STACK);
    JS_SetModuleLoaderFunc(runtime, normalize, load_module, NULL);
    driver_realm = JS_NewContext(runtime);
    program_realm = JS_NewContext(runtime);
    if (!driver_realm || !program_realm || JS_AddIntrinsicDOMException(program_realm) < 0 ||
        assay_replace_functions(program_realm) < 0) {
        abort();
    }
    run_script(driver_realm, "driver/shared.js");
    run_script(program_realm, "node/main.js");
    run_script(driver_realm, "driver/main.js");
    JSValue global = JS_GetGlobalObject(driver_realm);
    handle_function = JS_GetPropertyStr(driver_realm, global, "handle");
    JS_FreeValue(driver_realm, global);
    if (!JS_IsFunction(driver_realm, handle_function)) {
        abort();
    }
    is_starting = 0;
    JS_RunGC(runtime);
    JS_SetGCThreshold(runtime, FIRST_COLLECTION);
    assay_flush();
    assay_gather_arenas(runtime);
    /* Determine the folders of the host again when a path is first used: those of the process that
     * made the snapshot are not those of a run. */
    __wasilibc_reset_preopens();
}

EXPORT(allocate) void *allocate(uint32_t size) { return malloc(size ? size : 1); }

/* Frees the request when its view is collected. */
static void *resize_request(JSRuntime *runtime, void *opaque, void *request, size_t size)
{
    if (size) {
        return realloc(request, size);
    }
    free(request);
    return NULL;
}

static void keep_reply(JSValue value)
{
    JS_FreeValue(driver_realm, reply);
    reply = value;
    reply_size = 0;
    reply_bytes = JS_IsObject(value) ? JS_GetUint8Array(driver_realm, &reply_size, value) : NULL;
}

/* The reply about a program that has exited. */
static void keep_exit(void)
{
    static uint8_t message[64];
    char *header = (char *)message + 4;
    int length = snprintf(header, sizeof(message) - 4,
                          "{\"end\":\"exited\",\"status\":%d,\"blobs\":[]}", exit_status);
    keep_reply(JS_UNDEFINED);
    for (int i = 0; i < 4; i++) {
        message[i] = (uint8_t)(length >> (8 * i));
    }
    reply_bytes = message;
    reply_size = (size_t)length + 4;
}

/* The reply about an exception that the driver did not handle: mostly, memory is exhausted. */
static void keep_failure(void)
{
    static char message[200];
    JSValue error = JS_GetException(driver_realm);
    const char *text = JS_ToCString(driver_realm, error);
    if (!text) {
        JS_FreeValue(driver_realm, JS_GetException(driver_realm));
    }
    int length = snprintf(message, sizeof(message), "the driver of the image failed: %s",
                          text ? text : "out of memory");
    JS_FreeCString(driver_realm, text);
    JS_FreeValue(driver_realm, error);
    keep_reply(JS_UNDEFINED);
    reply_bytes = (const uint8_t *)message;
    reply_size = length < (int)sizeof(message) ? (size_t)length : sizeof(message) - 1;
}

EXPORT(handle) int32_t handle(char *request, uint32_t length)
{
    JSValue message =
        JS_NewUint8Array(driver_realm, (uint8_t *)request, length, resize_request, NULL, false);
    JSValue answer = JS_EXCEPTION;
    if (!JS_IsException(message)) {
        answer = JS_Call(driver_realm, handle_function, JS_UNDEFINED, 1, (JSValueConst *)&message);
        JS_FreeValue(driver_realm, message);
    }
    assay_flush();
    if (is_exiting) {
        JS_FreeValue(driver_realm, answer);
        JS_FreeValue(driver_realm, JS_GetException(driver_realm));
        keep_exit();
        return FINE;
    }
    if (!JS_IsException(answer)) {
        keep_reply(answer);
        return FINE;
    }
    keep_failure();
    return RAISED;
}

EXPORT(reply_pointer) const uint8_t *reply_pointer(void) { return reply_bytes; }

EXPORT(reply_length) uint32_t reply_length(void) { return (uint32_t)reply_size; }
