/* In place of CPython's `Modules/getpath.c`, which searches folders for the
 * library: nothing here is read from a folder, and whoever starts the
 * interpreter sets every path in its configuration.
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
