/* The message about a call of a value that is not a function, with the called expression as V8
 * shows it. The expression is decompiled from the bytecode before the call. Part of `engine.c`. */
#ifndef ASSAY_CALLEE_H
#define ASSAY_CALLEE_H

/* Maximum number of instructions before the call that are examined, and of nested expressions. */
enum { CALLEE_WINDOW = 64, CALLEE_DEPTH = 8 };

/* The last instructions of a function up to a call. */
struct callee {
    JSContext *ctx;
    const JSFunctionBytecode *code;
    const uint8_t *window[CALLEE_WINDOW];
    int count;
    DynBuf text;
};

static const uint8_t *callee_at(const struct callee *callee, int index)
{
    return callee->window[index % CALLEE_WINDOW];
}

/* Number of values that an instruction pops from the stack; -1 if it may jump. */
static int callee_pops(const uint8_t *at)
{
    const JSOpCode *info = &short_opcode_info(*at);
    switch (info->fmt) {
    case OP_FMT_npop:
    case OP_FMT_npop_u16:
        return info->n_pop + get_u16(at + 1);
    case OP_FMT_npopx:
        return info->n_pop + *at - OP_call0;
    case OP_FMT_label:
    case OP_FMT_label8:
    case OP_FMT_label16:
    case OP_FMT_label_u16:
    case OP_FMT_atom_label_u8:
    case OP_FMT_atom_label_u16:
        return -1;
    default:
        return info->n_pop;
    }
}

/* Index of the instruction up to `index` that pushed the value below the `above` topmost ones, and
 * how many values it pushed after it; -1 if unknown. */
static int callee_pusher(const struct callee *callee, int index, int above, int *later)
{
    for (; index >= 0 && index > callee->count - CALLEE_WINDOW; index--) {
        const uint8_t *at = callee_at(callee, index);
        int pops = callee_pops(at), pushes = short_opcode_info(*at).n_push;
        if (pops < 0) {
            return -1;
        }
        if (above < pushes) {
            *later = above;
            return index;
        }
        above += pops - pushes;
    }
    return -1;
}

static bool callee_put_atom(struct callee *callee, JSAtom atom)
{
    const char *name = JS_AtomToCString(callee->ctx, atom);
    bool is_known = name && name[0];
    if (is_known) {
        dbuf_putstr(&callee->text, name);
    }
    JS_FreeCString(callee->ctx, name);
    return is_known;
}

static bool callee_put_variable(struct callee *callee, int index)
{
    const JSFunctionBytecode *code = callee->code;
    return index < code->arg_count + code->var_count &&
           callee_put_atom(callee, code->vardefs[index].var_name);
}

static bool callee_put_outer(struct callee *callee, int index)
{
    const JSFunctionBytecode *code = callee->code;
    return index < code->closure_var_count &&
           callee_put_atom(callee, code->closure_var[index].var_name);
}

static bool callee_put(struct callee *callee, int index, int later, int depth);

/* Writes the value that is below the `above` topmost ones before the instruction at `index`. */
static void callee_put_below(struct callee *callee, int index, int above, int depth)
{
    int later, pusher = callee_pusher(callee, index - 1, above, &later);
    if (pusher < 0 || depth == 0 || !callee_put(callee, pusher, later, depth - 1)) {
        dbuf_putstr(&callee->text, "(intermediate value)");
    }
}

/* Writes the expression that the instruction at `index` evaluates. */
static bool callee_put(struct callee *callee, int index, int later, int depth)
{
    const uint8_t *at = callee_at(callee, index);
    int arguments = callee->code->arg_count;
    switch (*at) {
    case OP_get_var:
    case OP_get_var_undef:
        return callee_put_atom(callee, get_u32(at + 1));
    case OP_get_loc:
    case OP_get_loc_check:
        return callee_put_variable(callee, arguments + get_u16(at + 1));
    case OP_set_loc:
        return callee_put_variable(callee, arguments + get_u16(at + 1));
    case OP_get_loc8:
    case OP_set_loc8:
        return callee_put_variable(callee, arguments + at[1]);
    case OP_set_loc0:
    case OP_set_loc1:
    case OP_set_loc2:
    case OP_set_loc3:
        return callee_put_variable(callee, arguments + *at - OP_set_loc0);
    case OP_get_loc0_loc1:
        return callee_put_variable(callee, arguments + (later == 0));
    case OP_get_loc0:
    case OP_get_loc1:
    case OP_get_loc2:
    case OP_get_loc3:
        return callee_put_variable(callee, arguments + *at - OP_get_loc0);
    case OP_get_arg:
        return callee_put_variable(callee, get_u16(at + 1));
    case OP_get_arg0:
    case OP_get_arg1:
    case OP_get_arg2:
    case OP_get_arg3:
        return callee_put_variable(callee, *at - OP_get_arg0);
    case OP_get_var_ref:
    case OP_get_var_ref_check:
        return callee_put_outer(callee, get_u16(at + 1));
    case OP_get_var_ref0:
    case OP_get_var_ref1:
    case OP_get_var_ref2:
    case OP_get_var_ref3:
        return callee_put_outer(callee, *at - OP_get_var_ref0);
    case OP_get_field:
    case OP_get_field2:
        callee_put_below(callee, index, 0, depth);
        dbuf_putc(&callee->text, '.');
        return callee_put_atom(callee, get_u32(at + 1));
    case OP_call0:
    case OP_call1:
    case OP_call2:
    case OP_call3:
        callee_put_below(callee, index, *at - OP_call0, depth);
        dbuf_putstr(&callee->text, "(...)");
        return true;
    case OP_call:
    case OP_call_method:
        callee_put_below(callee, index, get_u16(at + 1), depth);
        dbuf_putstr(&callee->text, "(...)");
        return true;
    default:
        return false;
    }
}

/* Writes the expression that is called at the current position of the innermost function. */
static bool callee_find(struct callee *callee)
{
    JSStackFrame *frame = callee->ctx->rt->current_stack_frame;
    JSObject *function = frame ? JS_VALUE_GET_OBJ(frame->cur_func) : NULL;
    if (!function || !frame->cur_pc || !js_class_has_bytecode(function->class_id)) {
        return false;
    }
    callee->code = function->u.func.function_bytecode;
    const uint8_t *at = callee->code->byte_code_buf;
    while (at < frame->cur_pc) {
        callee->window[callee->count++ % CALLEE_WINDOW] = at;
        at += short_opcode_info(*at).size;
    }
    if (at != frame->cur_pc) {
        return false;
    }
    int call = callee->count - 1, arguments;
    const uint8_t *instruction = callee_at(callee, call);
    switch (*instruction) {
    case OP_call0:
    case OP_call1:
    case OP_call2:
    case OP_call3:
        arguments = *instruction - OP_call0;
        break;
    case OP_call:
    case OP_tail_call:
    case OP_call_method:
    case OP_tail_call_method:
        arguments = get_u16(instruction + 1);
        break;
    default:
        return false;
    }
    int later, pusher = callee_pusher(callee, call - 1, arguments, &later);
    return pusher >= 0 && callee_put(callee, pusher, later, CALLEE_DEPTH);
}

JSValue assay_throw_not_a_function(JSContext *ctx)
{
    struct callee callee = {.ctx = ctx};
    js_dbuf_init(ctx, &callee.text);
    bool is_known = callee_find(&callee) && !dbuf_putc(&callee.text, 0);
    JSValue thrown = is_known
                         ? JS_ThrowTypeError(ctx, "%s is not a function", (char *)callee.text.buf)
                         : JS_ThrowTypeError(ctx, "undefined is not a function");
    dbuf_free(&callee.text);
    return thrown;
}

#endif
