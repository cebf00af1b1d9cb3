"""The engine: pins and substitutions of quickjs-ng, and how it is compiled.

The source is that of the crate `rquickjs-sys`, which contains a release of quickjs-ng.
"""

import hashlib
import os

import downloads
import toolchain
from downloads import Archive, Place, Substitution
from toolchain import GUEST, Failed, Unit, hash_of

# Size of the C stack, and of the memory at the start, in bytes. The engine uses a little less of
# the stack (`c/guest.c`).
STACK_BYTES = 16 << 20
INITIAL_MEMORY_BYTES = 24 << 20

ARCHIVE = Archive(
    "quickjs",
    (
        Place(
            "crate/rquickjs-sys/0.14.0",
            "cee271d0eeba64f0915b846cb7ae02e16faf3dfdffdca91731101d9d30fe3423",
        ),
    ),
    unused=("quickjs/tests", "quickjs/docs", "quickjs/examples"),
    used=("quickjs",),
)

ENGINE = "quickjs/quickjs/quickjs.c"


def engine(reason, old, new, times=1):
    return Substitution(ENGINE, reason, old, new, times)


SUBSTITUTIONS = (
    engine(
        "the guest has a stack of known size, so the engine can check it",
        "#if defined(__wasi__)\n    rt->stack_limit = 0; /* no limit */\n#else\n",
        "#if 0\n#else\n",
    ),
    engine(
        "`stack` begins with the name and the message of the error, as in V8, which reads them on "
        "the first use of `stack`",
        "    return js_dup(p->u.object_data);\n}\n\nstatic JSValue js_error_set_stack(",
        "    if (!JS_IsString(p->u.object_data))\n"
        "        return js_dup(p->u.object_data);\n"
        "    JSValue title = js_error_toString(ctx, this_val, 0, NULL);\n"
        "    if (JS_IsException(title))\n"
        "        return title;\n"
        "    return JS_ConcatString(ctx, title, js_dup(p->u.object_data));\n"
        "}\n\nstatic JSValue js_error_set_stack(",
    ),
    engine(
        "so the frames begin with a line break",
        "        js_dbuf_init(ctx, &dbuf);\n        if (stack_trace_limit == 0)\n",
        "        js_dbuf_init(ctx, &dbuf);\n"
        "        dbuf_putc(&dbuf, '\\n');\n"
        "        if (stack_trace_limit == 0)\n",
    ),
    engine(
        "the property of an object that is given a stack",
        "           on the (possibly non-Error) target, shadowing the accessor */\n",
        "           on the (possibly non-Error) target, shadowing the accessor */\n"
        "        if (!has_prepare && JS_IsError(error_obj)) {\n"
        "            JSValue title = js_error_toString(ctx, error_obj, 0, NULL);\n"
        "            if (!JS_IsException(title))\n"
        "                stack = JS_ConcatString(ctx, title, stack);\n"
        "        }\n",
    ),
    engine(
        "declares what this calls",
        "static void build_backtrace(JSContext *ctx, JSValueConst error_val,\n"
        "                            JSValueConst filter_func, const char *filename,\n"
        "                            int line_num, int col_num, int backtrace_flags)\n"
        "{\n",
        "static JSValue js_error_toString(JSContext *ctx, JSValueConst this_val,\n"
        "                                 int argc, JSValueConst *argv);\n"
        "\n"
        "static void build_backtrace(JSContext *ctx, JSValueConst error_val,\n"
        "                            JSValueConst filter_func, const char *filename,\n"
        "                            int line_num, int col_num, int backtrace_flags)\n"
        "{\n",
    ),
    engine(
        "the first arenas of a run are small",
        "static no_inline JSArena *arena_new(JSRuntime *rt, int block_size_idx)\n",
        "static int assay_arena_size = JS_ARENA_SIZE;\n"
        "\n"
        "static no_inline JSArena *arena_new(JSRuntime *rt, int block_size_idx)\n",
    ),
    engine(
        "the same",
        "n_blocks = (JS_ARENA_SIZE - sizeof(JSArena)) / block_size;",
        "n_blocks = (assay_arena_size - sizeof(JSArena)) / block_size;",
    ),
    engine(
        "V8 names the time zone",
        '                            "%02d%02d", tz / 60, tz % 60);\n'
        "            /* XXX: tack the time zone code? */\n",
        '                            "%02d%02d (Coordinated Universal Time)", tz / 60, tz % 60);\n',
    ),
    engine(
        "V8 ends `stack` without a line break",
        "            stack = JS_NewStringLen(ctx, (char *)dbuf.buf, dbuf.size);\n"
        "        dbuf_free(&dbuf);\n",
        "            stack = JS_NewStringLen(ctx, (char *)dbuf.buf,\n"
        "                dbuf.size - (dbuf.size > 0 && dbuf.buf[dbuf.size - 1] == '\\n'));\n"
        "        dbuf_free(&dbuf);\n",
    ),
    engine(
        "the text that V8 uses",
        'dbuf_printf(&dbuf, " (native)");',
        'dbuf_printf(&dbuf, " (<anonymous>)");',
    ),
    engine(
        "the line before the text of a program has the number 0",
        "        if (options->line_num != 0)\n            line = options->line_num;\n",
        "        line = options->line_num;\n",
    ),
    engine(
        "the text that V8 uses",
        "\"unexpected token in expression: '%.*s'\"",
        "\"Unexpected token '%.*s'\"",
    ),
    engine(
        "V8 distinguishes variables from properties",
        "                if (type == JS_THROW_VAR_RO)\n"
        "                    JS_ThrowTypeErrorReadOnly(ctx, JS_PROP_THROW, atom);\n",
        "                if (type == JS_THROW_VAR_RO)\n"
        '                    JS_ThrowTypeError(ctx, "Assignment to constant variable.");\n',
    ),
    engine(
        "V8 shows the expression that is called",
        'static JSValue JS_ThrowTypeErrorNotAFunction(JSContext *ctx)\n'
        "{\n"
        '    return JS_ThrowTypeError(ctx, "not a function");\n',
        "extern JSValue assay_throw_not_a_function(JSContext *ctx);\n"
        "\n"
        "static JSValue JS_ThrowTypeErrorNotAFunction(JSContext *ctx)\n"
        "{\n"
        "    return assay_throw_not_a_function(ctx);\n",
    ),
    engine(
        "V8 names the class",
        "JS_ThrowTypeError(ctx, \"class constructors must be invoked with 'new'\");",
        "const char *name = get_func_name(ctx, sf->cur_func);\n"
        "                JS_ThrowTypeError(ctx, \"Class constructor %s cannot be invoked without 'new'\",\n"
        "                                  name ? name : \"\");\n"
        "                JS_FreeCString(ctx, name);",
    ),
    engine(
        "jobs have numbers, because those of a test and of its program run in one order",
        "typedef struct JSJobEntry {\n    struct list_head link;\n",
        "extern uint64_t assay_job_number(void);\n"
        "\n"
        "typedef struct JSJobEntry {\n    struct list_head link;\n    uint64_t number;\n",
    ),
    engine(
        "a promise of the other instance that is settled adds jobs with the number of an earlier one",
        "    list_add_tail(&e->link, &rt->job_list);\n    return 0;\n",
        "    e->number = assay_job_number();\n"
        "    struct list_head *before = rt->job_list.prev;\n"
        "    while (before != &rt->job_list &&\n"
        "           list_entry(before, JSJobEntry, link)->number > e->number)\n"
        "        before = before->prev;\n"
        "    list_add(&e->link, before);\n"
        "    return 0;\n",
    ),
    engine(
        "call sites do not lead to functions of the driver",
        '    JS_CFUNC_MAGIC_DEF("getFunction", 0, js_callsite_getfield, offsetof(JSCallSiteData, func)),\n',
        '    JS_CFUNC_DEF("getFunction", 0, js_callsite_nothing),\n'
        '    JS_CFUNC_DEF("getThis", 0, js_callsite_nothing),\n',
    ),
    engine(
        "the same",
        "static const JSCFunctionListEntry js_callsite_proto_funcs[] = {\n",
        "static JSValue js_callsite_nothing(JSContext *ctx, JSValueConst this_val,\n"
        "                                   int argc, JSValueConst *argv)\n"
        "{\n"
        "    return JS_UNDEFINED;\n"
        "}\n"
        "\n"
        "static const JSCFunctionListEntry js_callsite_proto_funcs[] = {\n",
    ),
    engine(
        "V8 shows the number",
        '        JS_ThrowRangeError(ctx, "invalid repeat count");\n',
        "        const char *count = JS_ToCString(ctx, argv[0]);\n"
        '        JS_ThrowRangeError(ctx, "Invalid count value: %s", count ? count : "");\n'
        "        JS_FreeCString(ctx, count);\n",
    ),
    engine(
        "V8 names the function",
        "    if (f < 0 || f > 100)\n"
        '        return JS_ThrowRangeError(ctx, "invalid number of digits");\n',
        "    if (f < 0 || f > 100)\n"
        '        return JS_ThrowRangeError(ctx, "toFixed() digits argument must be between 0 and 100");\n',
    ),
    engine(
        "the same",
        "    if (p < 1 || p > 100)\n"
        '        return JS_ThrowRangeError(ctx, "invalid number of digits");\n',
        "    if (p < 1 || p > 100)\n"
        '        return JS_ThrowRangeError(ctx, "toPrecision() argument must be between 1 and 100");\n',
    ),
    engine(
        "arrays are sorted as in V8, also with comparison functions that contradict themselves",
        "    if (cmp != 0)\n"
        "        return cmp;\n"
        "    /* make sort stable: compare array offsets */\n"
        "    return (ap->pos > bp->pos) - (ap->pos < bp->pos);\n",
        "    return cmp;\n",
    ),
    engine(
        "the same",
        "    rqsort(array, pos, sizeof(*array), js_array_cmp_generic, &asc);\n",
        "    void *kept = js_malloc(ctx, (pos / 2 + 1) * sizeof(*array));\n"
        "    if (!kept)\n"
        "        goto exception;\n"
        "    sort_array(array, kept, pos, sizeof(*array), js_array_cmp_generic, &asc);\n"
        "    js_free(ctx, kept);\n",
    ),
    engine(
        "the same for typed arrays",
        "        if (cmp == 0) {\n"
        "            /* make sort stable: compare array offsets */\n"
        "            cmp = (a_idx > b_idx) - (a_idx < b_idx);\n"
        "        }\n",
        "",
    ),
    engine(
        "the same",
        "            rqsort(array_idx, len, sizeof(array_idx[0]),\n"
        "                   js_TA_cmp_generic, &tsc);\n",
        "            uint32_t *copy = js_malloc(ctx, len * sizeof(copy[0]));\n"
        "            if (!copy)\n"
        "                goto fail;\n"
        "            memcpy(copy, array_idx, len * sizeof(copy[0]));\n"
        "            sort_halves(copy, array_idx, 0, len, js_TA_cmp_generic, &tsc);\n"
        "            js_free(ctx, copy);\n",
    ),
    engine(
        "the error of `Promise.any` has a message",
        "    JS_DefinePropertyValueConst(ctx, obj, JS_ATOM_errors, errors,\n"
        "                               JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);\n"
        "    return obj;\n",
        "    JS_DefinePropertyValueConst(ctx, obj, JS_ATOM_errors, errors,\n"
        "                               JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);\n"
        "    JS_DefinePropertyValue(ctx, obj, JS_ATOM_message,\n"
        "                           JS_NewString(ctx, \"All promises were rejected\"),\n"
        "                           JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);\n"
        "    return obj;\n",
    ),
    engine(
        "the sum of squares with the digits of V8",
        "    double r, a;\n"
        "    int i;\n"
        "\n"
        "    r = 0;\n"
        "    if (argc > 0) {\n"
        "        if (JS_ToFloat64(ctx, &r, argv[0]))\n"
        "            return JS_EXCEPTION;\n"
        "        if (argc == 1) {\n"
        "            r = fabs(r);\n"
        "        } else {\n"
        "            /* use the built-in function to minimize precision loss */\n"
        "            for (i = 1; i < argc; i++) {\n"
        "                if (JS_ToFloat64(ctx, &a, argv[i]))\n"
        "                    return JS_EXCEPTION;\n"
        "                r = hypot(r, a);\n"
        "            }\n"
        "        }\n"
        "    }\n"
        "    return js_float64(r);\n",
        "    double *sides = js_malloc(ctx, (argc + 1) * sizeof(sides[0]));\n"
        "    if (!sides)\n"
        "        return JS_EXCEPTION;\n"
        "    for (int i = 0; i < argc; i++) {\n"
        "        if (JS_ToFloat64(ctx, &sides[i], argv[i])) {\n"
        "            js_free(ctx, sides);\n"
        "            return JS_EXCEPTION;\n"
        "        }\n"
        "    }\n"
        "    double length = root_of_squares(sides, argc);\n"
        "    js_free(ctx, sides);\n"
        "    return js_float64(length);\n",
    ),
    engine(
        "expressions may nest as deeply as the stack of the host allows",
        "static __exception int js_parse_assign_expr2(JSParseState *s, int parse_flags)\n{\n",
        "static __exception int parse_nested(JSParseState *s, int parse_flags);\n"
        "\n"
        "static __exception int js_parse_assign_expr2(JSParseState *s, int parse_flags)\n"
        "{\n"
        "    static int depth;\n"
        "    if (depth >= 8000) {\n"
        "        JS_ThrowStackOverflow(s->ctx);\n"
        "        return -1;\n"
        "    }\n"
        "    depth++;\n"
        "    int result = parse_nested(s, parse_flags);\n"
        "    depth--;\n"
        "    return result;\n"
        "}\n"
        "\n"
        "static __exception int parse_nested(JSParseState *s, int parse_flags)\n{\n",
    ),
)

# Messages of the engine, the messages of V8, which programs print, and the number of occurrences.
MESSAGES = (
    ('"cannot read property \'%s\' of null"', '"Cannot read properties of null (reading \'%s\')"', 2),
    ('"cannot read property \'%s\' of undefined"', '"Cannot read properties of undefined (reading \'%s\')"', 2),
    ('"cannot set property \'%s\' of null"', '"Cannot set properties of null (setting \'%s\')"', 1),
    ('"cannot set property \'%s\' of undefined"', '"Cannot set properties of undefined (setting \'%s\')"', 1),
    ('JS_ThrowRangeError(ctx, "invalid array length")', 'JS_ThrowRangeError(ctx, "Invalid array length")', 3),
    ('"\'%s\' is read-only"', '"Cannot assign to read only property \'%s\' of object \'#<Object>\'"', 1),
    ('"%s is not initialized"', '"Cannot access \'%s\' before initialization"', 1),
    ('JS_ThrowTypeError(ctx, "empty array")', 'JS_ThrowTypeError(ctx, "Reduce of empty array with no initial value")', 1),
    ('"expecting hex digit"', '"URI malformed"', 1),
    ('"malformed UTF-8"', '"URI malformed"', 1),
    ('"expecting surrogate pair"', '"URI malformed"', 2),
    ('"Date value is NaN"', '"Invalid time value"', 1),
    ('"BigInt are forbidden in JSON.stringify"', '"Do not know how to serialize a BigInt"', 1),
    ('JS_ThrowTypeError(ctx, "circular reference")', 'JS_ThrowTypeError(ctx, "Converting circular structure to JSON")', 1),
    ('"cannot convert BigInt to number"', '"Cannot mix BigInt and other types, use explicit conversions"', 1),
    ('"cannot convert symbol to string"', '"Cannot convert a Symbol value to a string"', 1),
    ('"cannot convert symbol to number"', '"Cannot convert a Symbol value to a number"', 1),
    ('"bad normalization form"', '"The normalization form should be one of NFC, NFD, NFKC, NFKD."', 1),
    ('"bigint argument with unary +"', '"Cannot convert a BigInt value to a number"', 2),
)

SUBSTITUTIONS += tuple(
    engine("the message of V8", old, new, times) for old, new, times in MESSAGES
)

# Files of the engine apart from `quickjs.c`, which `c/engine.c` includes.
FILES = ("dtoa.c", "libregexp.c", "libunicode.c")
OWN = ("malloc.c", "engine.c", "host.c", "guest.c", "mathematics.c")

FLAGS = (
    "-O2",
    "-g0",
    "-w",
    "-std=gnu11",
    "-D_GNU_SOURCE",
    "-Iquickjs/quickjs",
    "-fno-strict-aliasing",
    "-fvisibility=hidden",
)


def tree_hash():
    return hashlib.sha256(repr((ARCHIVE, SUBSTITUTIONS)).encode()).hexdigest()[:24]


def flags():
    """Flags for all files. The compiler has its own cache, which identifies files by their path
    relative to the tree. The hash distinguishes them from those of another tree.
    """
    return FLAGS + (f"-DASSAY_TREE={tree_hash()}",)


def unpack(home, cache):
    """Returns the source tree."""
    tree = home / "source" / tree_hash()
    downloads.unpack(tree, (ARCHIVE,), SUBSTITUTIONS, cache)
    return tree


def embedded(steps, scripts, scratch):
    """The object with the scripts: a list of pairs of a name and a path."""
    lines = ['#include "scripts.h"', ""]
    table = []
    for number, (name, path) in enumerate(scripts):
        lines.append(f"static const char text{number}[] = {{")
        lines.append(f'#embed "{path}"')
        lines.append(", 0};")
        table.append(f'    {{"{name}", text{number}, sizeof(text{number}) - 1}},')
    lines += ["", "const struct script scripts[] = {", *table, "    {0},", "};", ""]
    file = scratch / "scripts.c"
    file.write_text("\n".join(lines))
    contents = [part for name, path in scripts for part in (name, path.read_bytes())]
    key = hash_of(downloads.ZIG, steps.headers, GUEST, repr(FLAGS), *contents)
    command = [str(steps.zig), "cc", "-target", GUEST, "-c", str(file), f"-I{steps.own}", *FLAGS]

    def make(out):
        steps.run(command + ["-o", str(out)], "compiling the scripts")

    return steps.kept(key, ".o", make)


def link_image(steps, scripts, scratch, output):
    downloads.say("compiling javascript.wasm")
    objects = steps.compile_all([Unit(name, own=True) for name in OWN], GUEST, flags())
    units = [Unit(f"quickjs/quickjs/{name}") for name in FILES]
    objects += steps.compile_all(units, GUEST, flags())
    objects.append(embedded(steps, scripts, scratch))
    output.parent.mkdir(parents=True)
    command = [str(steps.zig), "cc", "-target", GUEST, "-O2", "-mexec-model=reactor", "-s"]
    command += ["-o", str(output), f"-Wl,-z,stack-size={STACK_BYTES}"]
    command += [f"-Wl,--initial-memory={INITIAL_MEMORY_BYTES}"]
    command += [str(item) for item in objects] + ["-lm"]
    steps.run(command, "linking the image")
    os.chmod(output, 0o644)
    if os.path.getsize(output) < 1 << 19:
        raise Failed(f"the linker wrote only {os.path.getsize(output)} bytes")


def steps_in(home, zig, tree, own, jobs):
    return toolchain.Steps(home / "steps", zig, tree, own, jobs, lambda source: tree_hash())
