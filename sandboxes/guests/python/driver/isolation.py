"""Isolates the driver's builtins: a program that replaces `len` does not affect the driver."""

import builtins


def own_builtins(namespace):
    """Gives a module a copy of the builtins. Functions defined after this look names up in the
    copy.
    """
    namespace["__builtins__"] = dict(vars(builtins))


own_builtins(globals())
