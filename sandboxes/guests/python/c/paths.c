/* Replaces CPython's `Modules/getpath.c`, which searches folders for the
 * library. The image reads nothing from folders, and the code that starts the
 * interpreter sets all paths in its configuration.
 */
#include "Python.h"
#include "pycore_initconfig.h"
#include "pycore_pathconfig.h"

PyStatus _PyConfig_InitPathConfig(PyConfig *config, int compute)
{
    (void)config;
    (void)compute;
    return _PyStatus_OK();
}
