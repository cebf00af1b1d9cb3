/* The engine, and functions that read its internal structures. */
#include "quickjs.c"

#include "engine.h"
#include "callee.h"

/* Length of the bytecode of an expression that is only a function. */
enum { FUNCTION_EXPRESSION = 4 };

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
