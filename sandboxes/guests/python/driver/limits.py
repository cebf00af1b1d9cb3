"""Which exceptions come from a limit of the sandbox: a module the image lacks, a facility it refuses.

Facilities that are refused raise an exception with an attribute `_assay_limit`: a cause and a name. What is found here explains a
verdict and is counted; it decides nothing.
"""

from . import isolation

isolation.own_builtins(globals())

import _imp  # noqa: E402
import sys  # noqa: E402

# Longest name that is told, in characters.
LONGEST = 400

# How many exceptions are followed from an exception to its cause.
CAUSES = 10


def of(error):
    """Cause and name of the limit that an exception, or one it was raised from, comes from; `None` without one."""
    try:
        for _ in range(CAUSES):
            if error is None:
                return None
            cause, name = _direct(error)
            if type(cause) is str and type(name) is str:
                return {"cause": cause[:LONGEST], "name": name[:LONGEST]}
            error = error.__cause__
    except BaseException:
        # The exception may be an object of the program, whose attributes are code.
        pass
    return None


def _direct(error):
    if isinstance(error, ModuleNotFoundError) and type(error.name) is str:
        top = error.name.partition(".")[0]
        if top and top not in sys.builtin_module_names and not _imp.is_frozen(top):
            return "module", error.name
    cause, name = getattr(error, "_assay_limit", (None, None))
    return cause, name
