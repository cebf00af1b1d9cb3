/* What the guest needs from the engine beyond its public interface. */
#ifndef ASSAY_ENGINE_H
#define ASSAY_ENGINE_H

#include "quickjs.h"

/* Describes a compiled program: an array of the names declared in its outermost function, whose
 * first element says whether the function is in strict mode. Stack traces of the program end at
 * this function. */
JSValue assay_describe(JSContext *ctx, JSValueConst compiled);

/* The remaining keys and values of an iterator of a map or set, after a boolean that says whether
 * it yields pairs; undefined for other values. */
JSValue assay_iterated(JSContext *ctx, JSValueConst value);

/* Whether an uncatchable error would reach the caller of the driver. Asynchronous functions, and
 * functions of the engine apart from `Reflect.apply` and `thrower`, may convert it to a value. */
bool assay_can_unwind(JSContext *ctx, JSCFunction *thrower);

/* The contents of an object: whether it is extensible; the number of properties; key, flags and
 * value of each, or getter and setter; then elements of an array, keys and values of a map,
 * elements of a set, the value of a date or boxed value, or the bytes of a buffer. */
JSValue assay_contents(JSContext *ctx, JSValueConst value);

/* Whether an object has the contents that `assay_contents` returned. */
bool assay_has_contents(JSContext *ctx, JSValueConst value, JSValueConst list);

/* Whether a promise has a reaction to its rejection. */
bool assay_is_handled(JSContext *ctx, JSValueConst promise);

/* Number of the last job that was added to the queue, and the number that added jobs get; 0 for the
 * next one. */
extern uint64_t assay_next_number, assay_given_number;

/* Number of the first job in the queue; 0 if there is none. */
uint64_t assay_first_job(JSContext *ctx);

/* Evaluates a module with an absolute name, unless it was imported before: the promise of the
 * evaluation, and the namespace. */
JSValue assay_import(JSContext *ctx, const char *name);

/* Makes a run allocate its first small blocks from a few pages, which are restored after the run,
 * instead of the free blocks between the objects of the snapshot. */
void assay_gather_arenas(JSRuntime *runtime);

/* Name of the internal class of an object, such as `Map`; undefined for other values. */
JSValue assay_kind(JSContext *ctx, JSValueConst value);

#endif
