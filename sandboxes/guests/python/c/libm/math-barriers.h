/* Stands for the header of this name in glibc: all of it that is needed is there. */
#include "math_private.h"
