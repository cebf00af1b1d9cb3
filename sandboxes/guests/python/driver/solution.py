"""The program as a module that a test can import, in the judging instance."""

from . import isolation

isolation.own_builtins(globals())

import types  # noqa: E402

from . import messages, remote, suspicious, values  # noqa: E402


class Solution(types.ModuleType):
    """A module whose attributes are those of the program's module, even after they change."""

    def __init__(self, name, peer, used):
        super().__init__(name)
        self.__dict__["__file__"] = f"/{name}.py"
        # Names that the test uses: `import *` imports only these.
        self.__dict__["_assay"] = (peer, used)

    def __getattr__(self, name):
        if name == "__all__":
            return self._public_names()
        if _is_own(name):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        peer, used = self._peer(), self._peer().used
        value = getattr(module_of(self), name)
        # Reading a function does not count as using it: a later failure may be the test's own.
        peer.used = used or not suspicious.is_unclassified(value)
        return value

    def __setattr__(self, name, value):
        if _is_own(name):
            super().__setattr__(name, value)
        else:
            setattr(module_of(self), name, value)

    def __delattr__(self, name):
        if _is_own(name):
            super().__delattr__(name)
        else:
            delattr(module_of(self), name)

    def __dir__(self):
        return [name for name in dir(module_of(self)) if type(name) is str]

    def _peer(self):
        return self.__dict__["_assay"][0]

    def _public_names(self):
        used = self.__dict__["_assay"][1]
        return [name for name in self.__dir__() if name in used and not name.startswith("_")]


def _is_own(name):
    return name.startswith("__") or name == "_assay"


def module_of(solution):
    """The stand-in for the program's module."""
    peer = solution._peer()
    if peer.module is None:
        request = {"op": "peer", "target": 0, "method": "module", "args": ()}
        reply, _ = messages.read(remote._exchange(messages.write(request)))
        unpacker = values.Unpacker(peer.reference, peer.shared, reply.get("first", 0))
        peer.module = unpacker.unpack(reply["value"][""])
        peer.shared.keep(unpacker)
    if not suspicious.is_remote(peer.module):
        raise peer.refusal(AttributeError("the program hides its module"))
    return peer.module
