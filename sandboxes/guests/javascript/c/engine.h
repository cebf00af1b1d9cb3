/* What the guest needs from the engine beyond its public interface. */
#ifndef ASSAY_ENGINE_H
#define ASSAY_ENGINE_H

#include "quickjs.h"

/* Describes a compiled program: an array of the names declared in its outermost function, whose
 * first element tells whether the function is in strict mode. Stack traces of the program end at
 * this function. */
JSValue assay_describe(JSContext *ctx, JSValueConst compiled);

/* The keys and values that an iterator of a map or set has left, after a boolean that tells whether
 * it yields pairs; undefined for other values. */
JSValue assay_iterated(JSContext *ctx, JSValueConst value);

/* Whether an error that cannot be caught would reach the caller of the driver. Asynchronous
 * functions, and functions of the engine apart from `Reflect.apply` and `thrower`, may turn it into
 * a value. */
bool assay_can_unwind(JSContext *ctx, JSCFunction *thrower);

/* Name of the internal class of an object, such as `Map`; undefined for other values. */
JSValue assay_kind(JSContext *ctx, JSValueConst value);

#endif
