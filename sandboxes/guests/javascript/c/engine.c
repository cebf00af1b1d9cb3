/* The engine, and functions that read its internal structures. */
#include <stdint.h>

#include "mathematics.h"
#include "sort.h"

#define acosh v8_acosh
#define asinh v8_asinh
#define atanh v8_atanh
#define cos v8_cos
#define cosh v8_cosh
#define log v8_log
#define log10 v8_log10
#define pow v8_pow
#define sin v8_sin
#define sinh v8_sinh
#define tanh v8_tanh

#include "quickjs.c"

#include "engine.h"
#include "callee.h"

/* Sizes of the first arenas of a run, in bytes: of blocks up to this size, and of larger ones. */
enum { COMMON_BLOCK = 128, COMMON_ARENA = 2048, OTHER_ARENA = 1024 };

/* Length of the bytecode of an expression that is only a function. */
enum { FUNCTION_EXPRESSION = 4 };

void assay_gather_arenas(JSRuntime *runtime)
{
    JSArenaState *arenas = &runtime->arena_state;
    for (int i = 0; i < JS_ARENA_BLOCK_SIZE_COUNT; i++) {
        struct list_head *link, *next;
        list_for_each_safe(link, next, &arenas->free_arena_list[i]) {
            list_del(link);
            /* Unlinked again when the arena is freed. */
            init_list_head(link);
        }
        assay_arena_size = arena_block_sizes[i] <= COMMON_BLOCK ? COMMON_ARENA : OTHER_ARENA;
        if (!arena_new(runtime, i)) {
            abort();
        }
    }
    assay_arena_size = JS_ARENA_SIZE;
}

/* The function whose body is the program: the only function inside the evaluated expression, or
 * the function of a module. */
static JSFunctionBytecode *outermost(JSValueConst compiled)
{
    JSValueConst function = compiled;
    if (JS_VALUE_GET_TAG(compiled) == JS_TAG_MODULE) {
        JSModuleDef *module = JS_VALUE_GET_PTR(compiled);
        function = module->func_obj;
    }
    if (JS_VALUE_GET_TAG(function) != JS_TAG_FUNCTION_BYTECODE) {
        return NULL;
    }
    JSFunctionBytecode *bytecode = JS_VALUE_GET_PTR(function);
    if (JS_VALUE_GET_TAG(compiled) == JS_TAG_MODULE) {
        return bytecode;
    }
    /* The source can close the function and continue after it. */
    if (bytecode->cpool_count != 1 || bytecode->byte_code_len != FUNCTION_EXPRESSION ||
        JS_VALUE_GET_TAG(bytecode->cpool[0]) != JS_TAG_FUNCTION_BYTECODE) {
        return NULL;
    }
    return JS_VALUE_GET_PTR(bytecode->cpool[0]);
}

static int append(JSContext *ctx, JSValueConst list, uint32_t *count, JSAtom name)
{
    JSValue text = JS_AtomToString(ctx, name);
    return JS_DefinePropertyValueUint32(ctx, list, (*count)++, text, JS_PROP_C_W_E);
}

JSValue assay_describe(JSContext *ctx, JSValueConst compiled)
{
    JSValue list = JS_NewArray(ctx);
    JSFunctionBytecode *program = outermost(compiled);
    if (JS_IsException(list)) {
        return list;
    }
    if (!program) {
        JS_FreeValue(ctx, list);
        return JS_ThrowSyntaxError(ctx, "Unexpected token '}'");
    }
    program->backtrace_barrier = 1;
    uint32_t count = 1;
    JSValue strict = JS_NewBool(ctx, program->is_strict_mode);
    int failed = JS_DefinePropertyValueUint32(ctx, list, 0, strict, JS_PROP_C_W_E) < 0;
    for (int i = program->arg_count; i < program->arg_count + program->var_count && !failed; i++) {
        failed = append(ctx, list, &count, program->vardefs[i].var_name) < 0;
    }
    for (int i = 0; i < program->closure_var_count && !failed; i++) {
        JSClosureVar *variable = &program->closure_var[i];
        if (variable->closure_type == JS_CLOSURE_MODULE_DECL) {
            failed = append(ctx, list, &count, variable->var_name) < 0;
        }
    }
    if (failed) {
        JS_FreeValue(ctx, list);
        return JS_EXCEPTION;
    }
    return list;
}

JSValue assay_kind(JSContext *ctx, JSValueConst value)
{
    if (!JS_IsObject(value)) {
        return JS_UNDEFINED;
    }
    JSAtom name = JS_GetClassName(ctx->rt, JS_GetClassID(value));
    JSValue text = JS_AtomToString(ctx, name);
    JS_FreeAtom(ctx, name);
    return text;
}

JSValue assay_iterated(JSContext *ctx, JSValueConst value)
{
    JSClassID class = JS_GetClassID(value);
    if (class != JS_CLASS_MAP_ITERATOR && class != JS_CLASS_SET_ITERATOR) {
        return JS_UNDEFINED;
    }
    int is_set = class == JS_CLASS_SET_ITERATOR;
    JSMapIteratorData *iterator = JS_GetOpaque(value, class);
    JSValue list = JS_NewArray(ctx);
    uint32_t count = 0;
    int is_pairs = iterator->kind == JS_ITERATOR_KIND_KEY_AND_VALUE;
    JS_DefinePropertyValueUint32(ctx, list, count++, JS_NewBool(ctx, is_pairs), JS_PROP_C_W_E);
    if (JS_IsUndefined(iterator->obj)) {
        return list;
    }
    JSMapState *map = JS_GetOpaque(iterator->obj, JS_CLASS_MAP + is_set);
    JSMapRecord *current = iterator->cur_record;
    struct list_head *at = current ? current->link.next : map->records.next;
    for (; at != &map->records; at = at->next) {
        JSMapRecord *record = list_entry(at, JSMapRecord, link);
        if (record->empty) {
            continue;
        }
        JSValueConst held = is_set ? record->key : record->value;
        if (is_pairs || iterator->kind == JS_ITERATOR_KIND_KEY) {
            JSValue key = JS_DupValue(ctx, record->key);
            JS_DefinePropertyValueUint32(ctx, list, count++, key, JS_PROP_C_W_E);
        }
        if (is_pairs || iterator->kind == JS_ITERATOR_KIND_VALUE) {
            JSValue copy = JS_DupValue(ctx, held);
            JS_DefinePropertyValueUint32(ctx, list, count++, copy, JS_PROP_C_W_E);
        }
    }
    return list;
}

/* The contents of an object, as a list of values that are collected, or compared with others. */
struct contents {
    JSContext *ctx;
    JSValue *values;
    uint32_t count, capacity;
    bool is_comparing;
};

/* Takes ownership of the value. Returns false if it differs, or if memory is exhausted. */
static bool contents_put(struct contents *contents, JSValue value)
{
    if (contents->is_comparing) {
        bool is_same = contents->count < contents->capacity &&
                       !memcmp(&contents->values[contents->count++], &value, sizeof(value));
        JS_FreeValue(contents->ctx, value);
        return is_same;
    }
    if (contents->count == contents->capacity) {
        uint32_t capacity = contents->capacity ? contents->capacity * 2 : 16;
        JSValue *larger = js_realloc(contents->ctx, contents->values, capacity * sizeof(value));
        if (!larger) {
            JS_FreeValue(contents->ctx, value);
            return false;
        }
        contents->values = larger;
        contents->capacity = capacity;
    }
    contents->values[contents->count++] = value;
    return true;
}

static bool contents_put_key(struct contents *contents, JSAtom atom)
{
    if (__JS_AtomIsTaggedInt(atom)) {
        return contents_put(contents, JS_NewInt32(contents->ctx, (int)__JS_AtomToUInt32(atom)));
    }
    return contents_put(contents, JS_AtomToValue(contents->ctx, atom));
}

static JSValue function_or_undefined(JSObject *function)
{
    return function ? js_dup(JS_MKPTR(JS_TAG_OBJECT, function)) : JS_UNDEFINED;
}

/* Whether a property exists and is not a private field. */
static bool is_visible(JSContext *ctx, JSAtom atom)
{
    return atom != JS_ATOM_NULL && JS_AtomGetKind(ctx, atom) != JS_ATOM_KIND_PRIVATE;
}

static bool contents_put_properties(struct contents *contents, JSObject *object)
{
    JSShape *shape = object->shape;
    JSShapeProperty *described = get_shape_prop(shape);
    int count = 0;
    for (int i = 0; i < shape->prop_count; i++) {
        JSAtom atom = described[i].atom;
        count += is_visible(contents->ctx, atom);
    }
    if (!contents_put(contents, JS_NewInt32(contents->ctx, count))) {
        return false;
    }
    for (int i = 0; i < shape->prop_count; i++) {
        JSAtom atom = described[i].atom;
        if (!is_visible(contents->ctx, atom)) {
            continue;
        }
        JSProperty *property = &object->prop[i];
        int flags = described[i].flags & (JS_PROP_C_W_E | JS_PROP_TMASK);
        JSValue value = JS_UNDEFINED;
        if ((flags & JS_PROP_TMASK) == JS_PROP_NORMAL) {
            value = js_dup(property->u.value);
        } else if ((flags & JS_PROP_TMASK) == JS_PROP_VARREF) {
            value = js_dup(*property->u.var_ref->pvalue);
            flags &= JS_PROP_C_W_E;
        } else if ((flags & JS_PROP_TMASK) == JS_PROP_GETSET) {
            value = function_or_undefined(property->u.getset.getter);
        }
        if (JS_IsUninitialized(value)) {
            value = JS_UNDEFINED;
        }
        if (!contents_put_key(contents, atom) ||
            !contents_put(contents, JS_NewInt32(contents->ctx, flags))) {
            JS_FreeValue(contents->ctx, value);
            return false;
        }
        if (!contents_put(contents, value)) {
            return false;
        }
        if ((flags & JS_PROP_TMASK) == JS_PROP_GETSET &&
            !contents_put(contents, function_or_undefined(property->u.getset.setter))) {
            return false;
        }
    }
    return true;
}

static bool contents_put_map(struct contents *contents, JSObject *object)
{
    struct list_head *at;
    list_for_each(at, &object->u.map_state->records) {
        JSMapRecord *record = list_entry(at, JSMapRecord, link);
        if (record->empty) {
            continue;
        }
        if (!contents_put(contents, js_dup(record->key))) {
            return false;
        }
        if (object->class_id == JS_CLASS_MAP && !contents_put(contents, js_dup(record->value))) {
            return false;
        }
    }
    return true;
}

/* The bytes of a typed array or buffer, at most two gigabytes. */
static bool contents_put_bytes(struct contents *contents, const uint8_t *bytes, size_t length)
{
    JSContext *ctx = contents->ctx;
    if (!contents->is_comparing) {
        JSValue copy = JS_NewUint8ArrayCopy(ctx, bytes, length);
        return !JS_IsException(copy) && contents_put(contents, copy);
    }
    if (contents->count >= contents->capacity) {
        return false;
    }
    size_t known_length;
    uint8_t *known = JS_GetUint8Array(ctx, &known_length, contents->values[contents->count++]);
    return known_length == length && (!length || !memcmp(known, bytes, length));
}

static bool contents_put_class(struct contents *contents, JSObject *object)
{
    JSValueConst value = JS_MKPTR(JS_TAG_OBJECT, object);
    switch (object->class_id) {
    case JS_CLASS_ARRAY:
        for (uint32_t i = 0; object->fast_array && i < object->u.array.count; i++) {
            if (!contents_put(contents, js_dup(object->u.array.u.values[i]))) {
                return false;
            }
        }
        return true;
    case JS_CLASS_MAP:
    case JS_CLASS_SET:
        return contents_put_map(contents, object);
    case JS_CLASS_DATE:
    case JS_CLASS_NUMBER:
    case JS_CLASS_STRING:
    case JS_CLASS_BOOLEAN:
    case JS_CLASS_SYMBOL:
    case JS_CLASS_BIG_INT:
        return contents_put(contents, js_dup(object->u.object_data));
    case JS_CLASS_ARRAY_BUFFER: {
        size_t length;
        uint8_t *bytes = JS_GetArrayBuffer(contents->ctx, &length, value);
        if (!bytes) {
            JS_FreeValue(contents->ctx, JS_GetException(contents->ctx));
            length = 0;
        }
        return contents_put_bytes(contents, bytes, length);
    }
    default:
        if (is_typed_array(object->class_id)) {
            size_t length = object->u.array.count;
            length <<= typed_array_size_log2(object->class_id);
            return contents_put_bytes(contents, object->u.array.u.uint8_ptr, length);
        }
        return true;
    }
}

static bool contents_visit(struct contents *contents, JSValueConst value)
{
    JSObject *object = JS_VALUE_GET_OBJ(value);
    return contents_put(contents, JS_NewBool(contents->ctx, object->extensible)) &&
           contents_put_properties(contents, object) && contents_put_class(contents, object);
}

JSValue assay_contents(JSContext *ctx, JSValueConst value)
{
    if (!JS_IsObject(value)) {
        return JS_UNDEFINED;
    }
    struct contents contents = {.ctx = ctx};
    bool is_complete = contents_visit(&contents, value);
    JSValue list = is_complete ? js_create_array(ctx, contents.count, vc(contents.values))
                               : JS_ThrowOutOfMemory(ctx);
    for (uint32_t i = 0; i < contents.count; i++) {
        JS_FreeValue(ctx, contents.values[i]);
    }
    js_free(ctx, contents.values);
    return list;
}

bool assay_has_contents(JSContext *ctx, JSValueConst value, JSValueConst list)
{
    JSObject *known = JS_IsObject(list) ? JS_VALUE_GET_OBJ(list) : NULL;
    if (!JS_IsObject(value) || !known || known->class_id != JS_CLASS_ARRAY || !known->fast_array) {
        return false;
    }
    struct contents contents = {
        .ctx = ctx,
        .values = known->u.array.u.values,
        .capacity = known->u.array.count,
        .is_comparing = true,
    };
    return contents_visit(&contents, value) && contents.count == contents.capacity;
}

bool assay_is_handled(JSContext *ctx, JSValueConst promise)
{
    JSPromiseData *data = JS_GetOpaque(promise, JS_CLASS_PROMISE);
    return data && data->is_handled;
}

uint64_t assay_next_number, assay_given_number;

uint64_t assay_job_number(void)
{
    return assay_given_number ? assay_given_number : ++assay_next_number;
}

uint64_t assay_first_job(JSContext *ctx)
{
    struct list_head *jobs = &ctx->rt->job_list;
    return list_empty(jobs) ? 0 : list_entry(jobs->next, JSJobEntry, link)->number;
}

JSValue assay_import(JSContext *ctx, const char *name)
{
    JSModuleDef *module = js_host_resolve_imported_module(ctx, "/", name, JS_UNDEFINED);
    if (!module) {
        return JS_EXCEPTION;
    }
    if (js_resolve_module(ctx, module) < 0) {
        js_free_modules(ctx, JS_FREE_MODULE_NOT_RESOLVED);
        return JS_EXCEPTION;
    }
    JSValue promise = JS_EvalFunction(ctx, JS_NewModuleValue(ctx, module));
    if (JS_IsException(promise)) {
        return promise;
    }
    JSValue list = JS_NewArray(ctx);
    JS_SetPropertyUint32(ctx, list, 0, promise);
    JS_SetPropertyUint32(ctx, list, 1, JS_GetModuleNamespace(ctx, module));
    return list;
}

bool assay_can_unwind(JSContext *ctx, JSCFunction *thrower)
{
    for (JSStackFrame *frame = ctx->rt->current_stack_frame; frame; frame = frame->prev_frame) {
        JSObject *function = JS_VALUE_GET_OBJ(frame->cur_func);
        if (js_class_has_bytecode(function->class_id)) {
            if (function->u.func.function_bytecode->func_kind != JS_FUNC_NORMAL) {
                return false;
            }
        } else if (function->class_id == JS_CLASS_C_FUNCTION) {
            JSCFunction *called = function->u.cfunc.c_function.generic;
            if (called != thrower && called != js_reflect_apply) {
                return false;
            }
        } else {
            return false;
        }
    }
    return true;
}
