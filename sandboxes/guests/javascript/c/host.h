/* The module `host`: the system functions for the driver and the library for programs. */
#ifndef ASSAY_HOST_H
#define ASSAY_HOST_H

#include "quickjs.h"

/* The two realms. The driver's has intrinsics that no program can change. */
extern JSContext *driver_realm;
extern JSContext *program_realm;

/* Function of the library that returns the exports of a module such as `fs`, or undefined. */
extern JSValue library_function;

/* Whether a program is being compiled. Its imports are resolved when it is loaded. */
extern bool is_compiling;

JSModuleDef *assay_host_module(JSContext *ctx, const char *name);

/* Whether the program is exiting, which an uncatchable error reports to the guest, and the
 * status. */
extern bool is_exiting;
extern int exit_status;

/* Writes the buffered standard output. */
void assay_flush(void);

/* Defines functions that replace those of the engine. */
int assay_replace_functions(JSContext *ctx);

#endif
