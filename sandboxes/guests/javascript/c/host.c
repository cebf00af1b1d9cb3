/* Functions of the module `host`. File functions return a negative error number if they fail. */
#include "host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"

#define IMPORT(name) __attribute__((import_module("assay"), import_name(#name)))

IMPORT(exchange) uint32_t host_exchange(const uint8_t *message, uint32_t length);
IMPORT(fetch) void host_fetch(uint8_t *target);

/* Size of the buffer of standard output: a call to the host costs more than copying a line. */
enum { BUFFER = 16 << 10 };
static char buffer[BUFFER];
static size_t buffered;

/* The value that one realm has passed to the other. */
static JSValue published = JS_UNDEFINED;

/* Function of the driver that is called with rejected promises. */
static JSValue rejection = JS_UNDEFINED;

bool is_compiling = false;

static int write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, bytes, length);
        if (written < 0) {
            return -errno;
        }
        bytes += written;
        length -= (size_t)written;
    }
    return 0;
}

void assay_flush(void)
{
    size_t length = buffered;
    buffered = 0;
    write_all(STDOUT_FILENO, buffer, length);
}

static int output(int fd, const char *bytes, size_t length)
{
    if (fd != STDOUT_FILENO) {
        return write_all(fd, bytes, length);
    }
    if (buffered + length > BUFFER) {
        assay_flush();
    }
    if (length > BUFFER) {
        return write_all(fd, bytes, length);
    }
    memcpy(buffer + buffered, bytes, length);
    buffered += length;
    return 0;
}

/* Replaces lone surrogates, which UTF-8 cannot encode, with U+FFFD. */
static void replace_surrogates(char *text, size_t length)
{
    for (size_t i = 0; i + 2 < length; i++) {
        if ((unsigned char)text[i] == 0xed && (unsigned char)text[i + 1] >= 0xa0) {
            memcpy(text + i, "\xef\xbf\xbd", 3);
        }
    }
}

/* The bytes of a string in UTF-8, or of a view. `*text` must be freed with JS_FreeCString. */
static const uint8_t *bytes_of(JSContext *ctx, JSValueConst value, size_t *length,
                               const char **text)
{
    *text = NULL;
    if (JS_IsString(value)) {
        *text = JS_ToCStringLen(ctx, length, value);
        if (*text && memchr(*text, 0xed, *length)) {
            replace_surrogates((char *)*text, *length);
        }
        return (const uint8_t *)*text;
    }
    return JS_GetUint8Array(ctx, length, value);
}

static JSValue host_write(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    int fd;
    size_t length;
    const char *text;
    if (JS_ToInt32(ctx, &fd, argv[0])) {
        return JS_EXCEPTION;
    }
    const uint8_t *bytes = bytes_of(ctx, argv[1], &length, &text);
    if (!bytes && length) {
        return JS_EXCEPTION;
    }
    int failed = output(fd, (const char *)bytes, length);
    if (text) {
        JS_FreeCString(ctx, text);
    }
    return JS_NewInt32(ctx, failed);
}

static JSValue host_flush(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    assay_flush();
    return JS_UNDEFINED;
}

/* read(fd, length): at most this many bytes. */
static JSValue host_read(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    int fd;
    uint32_t wanted;
    if (JS_ToInt32(ctx, &fd, argv[0]) || JS_ToUint32(ctx, &wanted, argv[1])) {
        return JS_EXCEPTION;
    }
    uint8_t *bytes = js_malloc(ctx, wanted ? wanted : 1);
    if (!bytes) {
        return JS_EXCEPTION;
    }
    ssize_t length = read(fd, bytes, wanted);
    JSValue result = length < 0 ? JS_NewInt32(ctx, -errno)
                                : JS_NewUint8ArrayCopy(ctx, bytes, (size_t)length);
    js_free(ctx, bytes);
    return result;
}

/* readAll(fd): everything up to the end. */
static JSValue host_read_all(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    int fd;
    if (JS_ToInt32(ctx, &fd, argv[0])) {
        return JS_EXCEPTION;
    }
    size_t length = 0, capacity = 64 << 10;
    uint8_t *bytes = js_malloc(ctx, capacity);
    while (bytes) {
        ssize_t found = read(fd, bytes + length, capacity - length);
        if (found < 0) {
            js_free(ctx, bytes);
            return JS_NewInt32(ctx, -errno);
        }
        if (found == 0) {
            JSValue result = JS_NewUint8ArrayCopy(ctx, bytes, length);
            js_free(ctx, bytes);
            return result;
        }
        length += (size_t)found;
        if (length == capacity) {
            uint8_t *larger = js_realloc(ctx, bytes, capacity *= 2);
            if (!larger) {
                js_free(ctx, bytes);
            }
            bytes = larger;
        }
    }
    return JS_EXCEPTION;
}

static int open_flags(const char *flags)
{
    int plus = strchr(flags, '+') != NULL;
    int exclusive = strchr(flags, 'x') ? O_EXCL : 0;
    switch (flags[0]) {
    case 'w':
        return (plus ? O_RDWR : O_WRONLY) | O_CREAT | O_TRUNC | exclusive;
    case 'a':
        return (plus ? O_RDWR : O_WRONLY) | O_CREAT | O_APPEND | exclusive;
    default:
        return plus ? O_RDWR : O_RDONLY;
    }
}

static JSValue host_open(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    const char *path = JS_ToCString(ctx, argv[0]);
    const char *flags = path ? JS_ToCString(ctx, argv[1]) : NULL;
    int fd = flags ? open(path, open_flags(flags), 0666) : -1;
    int error = errno;
    JS_FreeCString(ctx, path);
    JS_FreeCString(ctx, flags);
    if (!flags) {
        return JS_EXCEPTION;
    }
    return JS_NewInt32(ctx, fd < 0 ? -error : fd);
}

static JSValue host_close(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    int fd;
    if (JS_ToInt32(ctx, &fd, argv[0])) {
        return JS_EXCEPTION;
    }
    return JS_NewInt32(ctx, close(fd) < 0 ? -errno : 0);
}

enum { MKDIR, RMDIR, UNLINK };

/* mkdir, rmdir and unlink. */
static JSValue host_path(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv, int what)
{
    const char *path = JS_ToCString(ctx, argv[0]);
    if (!path) {
        return JS_EXCEPTION;
    }
    int failed = what == MKDIR ? mkdir(path, 0777) : what == RMDIR ? rmdir(path) : unlink(path);
    failed = failed < 0 ? -errno : 0;
    JS_FreeCString(ctx, path);
    return JS_NewInt32(ctx, failed);
}

static JSValue host_rename(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    const char *from = JS_ToCString(ctx, argv[0]);
    const char *to = from ? JS_ToCString(ctx, argv[1]) : NULL;
    int failed = to && rename(from, to) < 0 ? -errno : 0;
    JS_FreeCString(ctx, from);
    JS_FreeCString(ctx, to);
    return to ? JS_NewInt32(ctx, failed) : JS_EXCEPTION;
}

/* stat(path or descriptor): kind (0 file, 1 folder, 2 device), size, modification time in ms. */
static JSValue host_stat(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    struct stat found;
    int failed, fd;
    if (JS_IsNumber(argv[0])) {
        if (JS_ToInt32(ctx, &fd, argv[0])) {
            return JS_EXCEPTION;
        }
        failed = fstat(fd, &found);
    } else {
        const char *path = JS_ToCString(ctx, argv[0]);
        if (!path) {
            return JS_EXCEPTION;
        }
        failed = stat(path, &found);
        JS_FreeCString(ctx, path);
    }
    if (failed < 0) {
        return JS_NewInt32(ctx, -errno);
    }
    JSValue list = JS_NewArray(ctx);
    int kind = S_ISDIR(found.st_mode) ? 1 : S_ISREG(found.st_mode) ? 0 : 2;
    double changed = (double)found.st_mtim.tv_sec * 1e3 + (double)found.st_mtim.tv_nsec / 1e6;
    JS_SetPropertyUint32(ctx, list, 0, JS_NewInt32(ctx, kind));
    JS_SetPropertyUint32(ctx, list, 1, JS_NewInt64(ctx, found.st_size));
    JS_SetPropertyUint32(ctx, list, 2, JS_NewFloat64(ctx, changed));
    return list;
}

static JSValue host_list(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    const char *path = JS_ToCString(ctx, argv[0]);
    if (!path) {
        return JS_EXCEPTION;
    }
    DIR *folder = opendir(path);
    int error = errno;
    JS_FreeCString(ctx, path);
    if (!folder) {
        return JS_NewInt32(ctx, -error);
    }
    JSValue list = JS_NewArray(ctx);
    uint32_t count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) {
            JS_SetPropertyUint32(ctx, list, count++, JS_NewString(ctx, entry->d_name));
        }
    }
    closedir(folder);
    return list;
}

static JSValue host_error(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    int error;
    if (JS_ToInt32(ctx, &error, argv[0])) {
        return JS_EXCEPTION;
    }
    return JS_NewString(ctx, strerror(error));
}

/* now(): nanoseconds since the program began. */
static JSValue host_now(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return JS_NewFloat64(ctx, (double)now.tv_sec * 1e9 + (double)now.tv_nsec);
}

/* sleep(nanoseconds): costs work but no wall time. */
static JSValue host_sleep(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    double left;
    if (JS_ToFloat64(ctx, &left, argv[0])) {
        return JS_EXCEPTION;
    }
    if (left > 0) {
        double seconds = left / 1e9 < 1e9 ? left / 1e9 : 1e9;
        struct timespec wait = {.tv_sec = (time_t)seconds};
        wait.tv_nsec = (long)((seconds - (double)wait.tv_sec) * 1e9);
        nanosleep(&wait, NULL);
    }
    return JS_UNDEFINED;
}

static JSValue host_random(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    size_t length;
    uint8_t *bytes = JS_GetUint8Array(ctx, &length, argv[0]);
    if (!bytes && length) {
        return JS_EXCEPTION;
    }
    for (size_t done = 0; done < length; done += 256) {
        getentropy(bytes + done, length - done < 256 ? length - done : 256);
    }
    return JS_UNDEFINED;
}

bool is_exiting = false;
int exit_status = 0;

/* Whether the operation in progress may end with an uncatchable error. */
static bool may_unwind = false;

static JSValue host_may_unwind(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    may_unwind = JS_ToBool(ctx, argv[0]);
    return JS_UNDEFINED;
}

/* exit(status). An instance that ends in the middle of an operation cannot be used again, so the
 * stack is unwound where that is possible. */
static JSValue host_exit(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    if (JS_ToInt32(ctx, &exit_status, argv[0])) {
        return JS_EXCEPTION;
    }
    assay_flush();
    if (!may_unwind || !assay_can_unwind(ctx, host_exit)) {
        _Exit(exit_status);
    }
    JSValue error = JS_NewError(ctx);
    JS_SetUncatchableError(ctx, error);
    is_exiting = true;
    return JS_Throw(ctx, error);
}

/* exchange(message): the answer of the other instance. */
static JSValue host_send(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    size_t length;
    const char *text;
    const uint8_t *bytes = bytes_of(ctx, argv[0], &length, &text);
    if (!bytes) {
        return JS_EXCEPTION;
    }
    assay_flush();
    uint32_t expected = host_exchange(bytes, (uint32_t)length);
    if (text) {
        JS_FreeCString(ctx, text);
    }
    uint8_t *answer = js_malloc(ctx, expected ? expected : 1);
    if (!answer) {
        return JS_EXCEPTION;
    }
    host_fetch(answer);
    JSValue result = JS_NewUint8ArrayCopy(ctx, answer, expected);
    js_free(ctx, answer);
    return result;
}

/* decode(bytes, start, end): the text in UTF-8. */
static JSValue host_decode(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    size_t length;
    uint32_t start, end;
    uint8_t *bytes = JS_GetUint8Array(ctx, &length, argv[0]);
    if (JS_ToUint32(ctx, &start, argv[1]) || JS_ToUint32(ctx, &end, argv[2])) {
        return JS_EXCEPTION;
    }
    end = end < length ? end : (uint32_t)length;
    if (!bytes || start >= end) {
        return JS_NewStringLen(ctx, "", 0);
    }
    return JS_NewStringLen(ctx, (char *)bytes + start, end - start);
}

/* readMessage(bytes): an object with the parsed `header`, and an array of the `blobs`. */
static JSValue host_read_message(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    size_t size;
    uint8_t *bytes = JS_GetUint8Array(ctx, &size, argv[0]);
    uint32_t length = 0;
    if (bytes && size >= 4) {
        memcpy(&length, bytes, 4);
    }
    if (!bytes || size < 4 || length > size - 4) {
        return JS_ThrowTypeError(ctx, "the message has no header");
    }
    /* The parser needs a text that ends with a zero. */
    char *text = js_malloc(ctx, (size_t)length + 1);
    if (!text) {
        return JS_EXCEPTION;
    }
    memcpy(text, bytes + 4, length);
    text[length] = 0;
    JSValue header = JS_ParseJSON(ctx, text, length, "message");
    js_free(ctx, text);
    if (JS_IsException(header)) {
        return header;
    }
    JSValue sizes = JS_GetPropertyStr(ctx, header, "blobs");
    JSValue blobs = JS_NewArray(ctx);
    int64_t count = 0;
    size_t at = 4 + (size_t)length;
    bool failed = JS_GetLength(ctx, sizes, &count) < 0;
    for (uint32_t i = 0; i < count && !failed; i++) {
        JSValue item = JS_GetPropertyUint32(ctx, sizes, i);
        uint32_t blob = 0;
        failed = JS_ToUint32(ctx, &blob, item) || blob > size - at;
        if (!failed) {
            JS_SetPropertyUint32(ctx, blobs, i, JS_NewUint8ArrayCopy(ctx, bytes + at, blob));
            at += blob;
        }
    }
    JS_FreeValue(ctx, sizes);
    JSValue message = JS_NewObject(ctx);
    JS_SetPropertyStr(ctx, message, "header", header);
    JS_SetPropertyStr(ctx, message, "blobs", blobs);
    if (failed) {
        JS_FreeValue(ctx, message);
        return JS_HasException(ctx) ? JS_EXCEPTION : JS_ThrowTypeError(ctx, "a blob is missing");
    }
    return message;
}

/* writeMessage(header, blobs): the message with a header, which is the text of an object without
 * the property `blobs`. */
static JSValue host_write_message(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    size_t length;
    int64_t count;
    const char *text = JS_ToCStringLen(ctx, &length, argv[0]);
    if (!text || length < 2 || JS_GetLength(ctx, argv[1], &count) < 0) {
        JS_FreeCString(ctx, text);
        return JS_EXCEPTION;
    }
    size_t capacity = 4 + length + 16 + (size_t)count * 12;
    for (uint32_t i = 0; i < count; i++) {
        size_t size = 0;
        JSValue blob = JS_GetPropertyUint32(ctx, argv[1], i);
        JS_GetUint8Array(ctx, &size, blob);
        JS_FreeValue(ctx, blob);
        capacity += size;
    }
    uint8_t *message = js_malloc(ctx, capacity);
    if (!message) {
        JS_FreeCString(ctx, text);
        return JS_EXCEPTION;
    }
    char *header = (char *)message + 4;
    memcpy(header, text, length - 1);
    JS_FreeCString(ctx, text);
    size_t at = length - 1;
    at += (size_t)sprintf(header + at, "%s\"blobs\":[", length > 2 ? "," : "");
    for (uint32_t i = 0; i < count; i++) {
        size_t size = 0;
        JSValue blob = JS_GetPropertyUint32(ctx, argv[1], i);
        JS_GetUint8Array(ctx, &size, blob);
        JS_FreeValue(ctx, blob);
        at += (size_t)sprintf(header + at, "%s%u", i ? "," : "", (unsigned)size);
    }
    memcpy(header + at, "]}", 2);
    at += 2;
    uint32_t total = (uint32_t)at;
    memcpy(message, &total, 4);
    at += 4;
    for (uint32_t i = 0; i < count; i++) {
        size_t size = 0;
        JSValue blob = JS_GetPropertyUint32(ctx, argv[1], i);
        uint8_t *bytes = JS_GetUint8Array(ctx, &size, blob);
        if (size) {
            memcpy(message + at, bytes, size);
        }
        JS_FreeValue(ctx, blob);
        at += size;
    }
    JSValue result = JS_NewUint8ArrayCopy(ctx, message, at);
    js_free(ctx, message);
    return result;
}

static JSValue host_encode(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    size_t length;
    const char *text;
    const uint8_t *bytes = bytes_of(ctx, argv[0], &length, &text);
    if (!bytes) {
        return JS_EXCEPTION;
    }
    JSValue result = JS_NewUint8ArrayCopy(ctx, bytes, length);
    if (text) {
        JS_FreeCString(ctx, text);
    }
    return result;
}

/* compile(text, file, first line, is module, is script): the bytecode, and a description of the
 * outermost function unless it is a script, whose statements run in the global scope. */
static JSValue host_compile(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    size_t length;
    const char *text = JS_ToCStringLen(ctx, &length, argv[0]);
    const char *file = text ? JS_ToCString(ctx, argv[1]) : NULL;
    JSValue result = JS_EXCEPTION;
    int line;
    if (file && !JS_ToInt32(ctx, &line, argv[2])) {
        int kind = JS_ToBool(ctx, argv[3]) ? JS_EVAL_TYPE_MODULE : JS_EVAL_TYPE_GLOBAL;
        JSEvalOptions options = {
            .version = JS_EVAL_OPTIONS_VERSION,
            .eval_flags = kind | JS_EVAL_FLAG_COMPILE_ONLY,
            .filename = file,
            .line_num = line,
        };
        is_compiling = true;
        JSValue compiled = JS_Eval2(program_realm, text, length, &options);
        is_compiling = false;
        if (JS_IsException(compiled)) {
            JS_Throw(ctx, JS_GetException(program_realm));
        } else {
            size_t size;
            bool is_script = argc > 4 && JS_ToBool(ctx, argv[4]);
            result = is_script ? JS_NewArray(ctx) : assay_describe(ctx, compiled);
            uint8_t *code = JS_WriteObject(program_realm, &size, compiled, JS_WRITE_OBJ_BYTECODE);
            JS_FreeValue(program_realm, compiled);
            if (code && !JS_IsException(result)) {
                JSValue bytes = JS_NewUint8ArrayCopy(ctx, code, size);
                JSValue list = JS_NewArray(ctx);
                JS_SetPropertyUint32(ctx, list, 0, bytes);
                JS_SetPropertyUint32(ctx, list, 1, result);
                result = list;
            }
            js_free(program_realm, code);
        }
    }
    JS_FreeCString(ctx, text);
    JS_FreeCString(ctx, file);
    return result;
}

/* load(bytecode): evaluates it in the program's realm. The result of a module is a promise. */
static JSValue host_load(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    size_t length;
    uint8_t *bytes = JS_GetUint8Array(ctx, &length, argv[0]);
    if (!bytes) {
        return JS_EXCEPTION;
    }
    JSValue code = JS_ReadObject(program_realm, bytes, length, JS_READ_OBJ_BYTECODE);
    JSValue result = code;
    if (!JS_IsException(code)) {
        if (JS_VALUE_GET_TAG(code) == JS_TAG_MODULE && JS_ResolveModule(program_realm, code) < 0) {
            JS_FreeValue(program_realm, code);
            result = JS_EXCEPTION;
        } else {
            JSModuleDef *module =
                JS_VALUE_GET_TAG(code) == JS_TAG_MODULE ? JS_VALUE_GET_PTR(code) : NULL;
            if (module) {
                JSValue meta = JS_GetImportMeta(program_realm, module);
                JSValue url = JS_NewString(program_realm, "file:///main.js");
                JS_SetPropertyStr(program_realm, meta, "url", url);
                JS_SetPropertyStr(program_realm, meta, "filename", JS_NewString(ctx, "/main.js"));
                JS_SetPropertyStr(program_realm, meta, "dirname", JS_NewString(ctx, "/"));
                JS_FreeValue(program_realm, meta);
            }
            result = JS_EvalFunction(program_realm, code);
            if (module && !JS_IsException(result)) {
                JSValue list = JS_NewArray(ctx);
                JS_SetPropertyUint32(ctx, list, 0, result);
                JS_SetPropertyUint32(ctx, list, 1, JS_GetModuleNamespace(program_realm, module));
                result = list;
            }
        }
    }
    if (JS_IsException(result)) {
        return JS_Throw(ctx, JS_GetException(program_realm));
    }
    return result;
}

/* importFile(name): evaluates a file that is an ES module. */
static JSValue host_import(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    const char *name = JS_ToCString(ctx, argv[0]);
    if (!name) {
        return JS_EXCEPTION;
    }
    JSValue result = assay_import(program_realm, name);
    JS_FreeCString(ctx, name);
    return JS_IsException(result) ? JS_Throw(ctx, JS_GetException(program_realm)) : result;
}

/* run(): runs one job, such as a reaction of a promise. Returns whether there was one. */
static JSValue host_run(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    JSContext *realm;
    int ran = JS_ExecutePendingJob(JS_GetRuntime(ctx), &realm);
    if (ran < 0) {
        return JS_Throw(ctx, JS_GetException(realm));
    }
    return JS_NewBool(ctx, ran > 0);
}

static JSValue call_job(JSContext *ctx, int argc, JSValueConst *argv)
{
    return JS_Call(ctx, argv[0], JS_UNDEFINED, 0, NULL);
}

static JSValue host_enqueue(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    return JS_EnqueueJob(ctx, call_job, 1, argv) < 0 ? JS_EXCEPTION : JS_UNDEFINED;
}

/* promise(value): its state, result, and whether its rejection is handled; undefined for other
 * values. */
static JSValue host_promise(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    int state = JS_PromiseState(ctx, argv[0]);
    if (state < 0) {
        return JS_UNDEFINED;
    }
    JSValue list = JS_NewArray(ctx);
    JS_SetPropertyUint32(ctx, list, 0, JS_NewInt32(ctx, state));
    JS_SetPropertyUint32(ctx, list, 1, JS_PromiseResult(ctx, argv[0]));
    JS_SetPropertyUint32(ctx, list, 2, JS_NewBool(ctx, assay_is_handled(ctx, argv[0])));
    return list;
}

/* proxy(value): the target of a proxy; undefined for other values. */
static JSValue host_proxy(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    return JS_IsProxy(argv[0]) ? JS_GetProxyTarget(ctx, argv[0]) : JS_UNDEFINED;
}

static JSValue host_kind(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    return assay_kind(ctx, argv[0]);
}

static JSValue host_iterated(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    return assay_iterated(ctx, argv[0]);
}

static JSValue host_contents(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    return assay_contents(ctx, argv[0]);
}

static JSValue host_has_contents(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    return JS_NewBool(ctx, assay_has_contents(ctx, argv[0], argv[1]));
}

/* firstJob(): number of the first job in the queue; 0 if there is none. */
static JSValue host_first_job(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    return JS_NewInt64(ctx, (int64_t)assay_first_job(ctx));
}

/* lastNumber(minimum): number of the last job that was added, raised to the minimum. */
static JSValue host_last_number(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    int64_t minimum;
    if (JS_ToInt64(ctx, &minimum, argv[0])) {
        return JS_EXCEPTION;
    }
    if (minimum > 0 && (uint64_t)minimum > assay_next_number) {
        assay_next_number = (uint64_t)minimum;
    }
    return JS_NewInt64(ctx, (int64_t)assay_next_number);
}

/* giveNumber(number): added jobs get this number until the next call with 0. */
static JSValue host_give_number(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    int64_t number;
    if (JS_ToInt64(ctx, &number, argv[0])) {
        return JS_EXCEPTION;
    }
    assay_given_number = number > 0 ? (uint64_t)number : 0;
    return JS_UNDEFINED;
}

static JSValue host_publish(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    JS_FreeValue(ctx, published);
    published = JS_DupValue(ctx, argv[0]);
    return JS_UNDEFINED;
}

static JSValue host_published(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    return JS_DupValue(ctx, published);
}

static JSValue host_library(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    library_function = JS_DupValue(ctx, argv[0]);
    return JS_UNDEFINED;
}

static void report_rejection(JSContext *ctx, JSValueConst promise, JSValueConst reason,
                             bool is_handled, void *opaque)
{
    JSValueConst arguments[] = {promise, reason, is_handled ? JS_TRUE : JS_FALSE};
    JS_FreeValue(ctx, JS_Call(driver_realm, rejection, JS_UNDEFINED, 3, arguments));
}

static JSValue host_rejections(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    rejection = JS_DupValue(ctx, argv[0]);
    JS_SetHostPromiseRejectionTracker(JS_GetRuntime(ctx), report_rejection, NULL);
    return JS_UNDEFINED;
}

static JSValue host_memory(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    return JS_NewInt64(ctx, (int64_t)__builtin_wasm_memory_size(0) << 16);
}

static JSValue host_collect(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    JS_RunGC(JS_GetRuntime(ctx));
    return JS_UNDEFINED;
}

static const JSCFunctionListEntry functions[] = {
    JS_CFUNC_DEF("write", 2, host_write),
    JS_CFUNC_DEF("flush", 0, host_flush),
    JS_CFUNC_DEF("read", 2, host_read),
    JS_CFUNC_DEF("readAll", 1, host_read_all),
    JS_CFUNC_DEF("open", 2, host_open),
    JS_CFUNC_DEF("close", 1, host_close),
    JS_CFUNC_MAGIC_DEF("mkdir", 1, host_path, MKDIR),
    JS_CFUNC_MAGIC_DEF("rmdir", 1, host_path, RMDIR),
    JS_CFUNC_MAGIC_DEF("unlink", 1, host_path, UNLINK),
    JS_CFUNC_DEF("rename", 2, host_rename),
    JS_CFUNC_DEF("stat", 1, host_stat),
    JS_CFUNC_DEF("list", 1, host_list),
    JS_CFUNC_DEF("errorText", 1, host_error),
    JS_CFUNC_DEF("now", 0, host_now),
    JS_CFUNC_DEF("sleep", 1, host_sleep),
    JS_CFUNC_DEF("random", 1, host_random),
    JS_CFUNC_DEF("exit", 1, host_exit),
    JS_CFUNC_DEF("mayUnwind", 1, host_may_unwind),
    JS_CFUNC_DEF("exchange", 1, host_send),
    JS_CFUNC_DEF("decode", 3, host_decode),
    JS_CFUNC_DEF("readMessage", 1, host_read_message),
    JS_CFUNC_DEF("writeMessage", 2, host_write_message),
    JS_CFUNC_DEF("encode", 1, host_encode),
    JS_CFUNC_DEF("compile", 4, host_compile),
    JS_CFUNC_DEF("load", 1, host_load),
    JS_CFUNC_DEF("importFile", 1, host_import),
    JS_CFUNC_DEF("run", 0, host_run),
    JS_CFUNC_DEF("enqueue", 1, host_enqueue),
    JS_CFUNC_DEF("promise", 1, host_promise),
    JS_CFUNC_DEF("proxy", 1, host_proxy),
    JS_CFUNC_DEF("kind", 1, host_kind),
    JS_CFUNC_DEF("iterated", 1, host_iterated),
    JS_CFUNC_DEF("contents", 1, host_contents),
    JS_CFUNC_DEF("hasContents", 2, host_has_contents),
    JS_CFUNC_DEF("firstJob", 0, host_first_job),
    JS_CFUNC_DEF("lastNumber", 1, host_last_number),
    JS_CFUNC_DEF("giveNumber", 1, host_give_number),
    JS_CFUNC_DEF("publish", 1, host_publish),
    JS_CFUNC_DEF("published", 0, host_published),
    JS_CFUNC_DEF("library", 1, host_library),
    JS_CFUNC_DEF("rejections", 1, host_rejections),
    JS_CFUNC_DEF("memory", 0, host_memory),
    JS_CFUNC_DEF("collect", 0, host_collect),
};

enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

static int fill_module(JSContext *ctx, JSModuleDef *module)
{
    return JS_SetModuleExportList(ctx, module, functions, FUNCTIONS);
}

JSModuleDef *assay_host_module(JSContext *ctx, const char *name)
{
    JSModuleDef *module = JS_NewCModule(ctx, name, fill_module);
    if (module) {
        JS_AddModuleExportList(ctx, module, functions, FUNCTIONS);
    }
    return module;
}

/* State of `Math.random`, seeded by the host when a program first calls it. */
static uint64_t random_state[2];

static JSValue math_random(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    while (!random_state[0] && !random_state[1]) {
        getentropy(random_state, sizeof(random_state));
    }
    /* xorshift128+ (S. Vigna, "Further scramblings of Marsaglia's xorshift generators", 2014). */
    uint64_t first = random_state[0], second = random_state[1];
    random_state[0] = second;
    first ^= first << 23;
    random_state[1] = first ^ second ^ (first >> 17) ^ (second >> 26);
    return JS_NewFloat64(ctx, (double)((random_state[1] + second) >> 11) * 0x1p-53);
}

int assay_replace_functions(JSContext *ctx)
{
    JSValue global = JS_GetGlobalObject(ctx);
    JSValue math = JS_GetPropertyStr(ctx, global, "Math");
    JSValue function = JS_NewCFunction(ctx, math_random, "random", 0);
    int defined = JS_DefinePropertyValueStr(ctx, math, "random", function,
                                            JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
    JS_FreeValue(ctx, math);
    JS_FreeValue(ctx, global);
    return defined;
}
