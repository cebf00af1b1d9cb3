/* Replaces the glibc header of this name; `math_private.h` has all definitions that are needed. */
#include "math_private.h"
