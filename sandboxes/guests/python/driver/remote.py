"""A connection between two instances, each of which uses functions, classes and objects of the
other.

Both instances run this code. Each keeps what it lent (`Peer.lent`) and answers requests about it.
The other instance has a stand-in that sends a request for each operation. The judging instance
(`judge.py`) has suspicious stand-ins (`suspicious.py`), which do not trust the program; the
program's instance (`program.py`) has stand-ins that behave like the originals (`lent.py`).
"""

from . import isolation

isolation.own_builtins(globals())

import types  # noqa: E402

import _assay_host  # noqa: E402

from . import failures, messages, operations, sharing, values  # noqa: E402
from .failures import describe, exit_code, exit_status  # noqa: E402, F401

_exchange = _assay_host.exchange

# Maximum number of parts of a value that is sent between instances.
ROOM = 2_000_000


# JSON types that need unpacking.
_STRUCTURED = frozenset((list, dict))

# Parts of a request without containers: operation, target, method, arguments, lengths of blobs.
_BARE = 5


class Ended(SystemExit):
    """The program exited. A test that expects this can catch it as `SystemExit`."""


class Peer:
    """This instance's end. What each side accepts is defined by its subclass."""

    # Bases that exception classes of the other instance may have here.
    widest_exception = Exception

    def __init__(self, first):
        self.lent, self.numbers = [], {}
        # Stand-ins for objects of the other instance: number -> stand-in, and identity of a
        # stand-in -> number.
        self.stand_ins, self.origins = {}, {}
        self.shared = sharing.Shared(first)
        self._nothing = sharing.Shared(first)
        self.raised = failures.Raised()

    def nothing_shared(self):
        """An empty table: containers of an exception are sent as copies."""
        return self._nothing

    def unpacker(self):
        return values.Unpacker(self.reference, self._nothing)

    # Lending.

    def lend(self, value):
        number = self.numbers.get(id(value))
        if number is None:
            number = self.numbers[id(value)] = len(self.lent)
            self.lent.append(value)
        return number

    def number_of_theirs(self, value):
        """The number under which the other instance lent this object, or `None` for objects of this
        instance.
        """
        if isinstance(value, BaseException):
            return value.__dict__.get("_assay_number")
        return self.origins.get(id(value))

    def own_exception(self, number):
        """An exception of this instance that the other one returns."""
        error = self.raised.get(number) if number < 0 else self.lent[number]
        if not isinstance(error, BaseException):
            raise ValueError(f"number {number} is not an exception that this instance raised")
        return error

    def stand_in(self, number, make):
        if type(number) is not int:
            raise ValueError("a reference has no number")
        if number not in self.stand_ins:
            self.remember(make(), number)
        return self.stand_ins[number]

    def remember(self, thing, number):
        self.stand_ins[number] = thing
        self.origins[id(thing)] = number

    def export(self, packer, value, depth):
        """The message form of a value that is not plain data."""
        number = self.number_of_theirs(value)
        if number is not None:
            return {"$": "lent", "v": number}
        if isinstance(value, types.TracebackType):
            return None
        if isinstance(value, BaseException):
            return {"$": "exception", "v": failures.packed(self, value)}
        return self.export_own(packer, value, depth)

    def reference(self, unpacker, packed):
        """The representation in this instance of a value that is not plain data."""
        if packed["$"] == "lent":
            return self.lent[packed["v"]]
        if packed["$"] == "exception":
            return failures.unpacked(self, packed["v"], "value")
        return self.reference_to_theirs(unpacker, packed)

    # Sending requests.

    def ask(self, target, method, args=(), kwargs=None):
        shared = self.shared
        request = {"op": "peer", "target": target, "method": method}
        if not (kwargs or shared.entries or self.has_state()) and all(map(values.is_flat, args)):
            # Most requests: nothing is shared, and nothing has to be packed.
            request["args"] = args
            return self.read_reply(self.exchange(request), method)
        packer = values.Packer(self.export, ROOM, shared)
        changed = shared.changes(packer, False)
        if shared.entries and (unused := shared.unused()):
            request["dropped"] = unused
        self.add_state(request, packer)
        request["args"] = [packer.pack(argument, 1) for argument in args]
        if kwargs:
            request["kwargs"] = {
                name: packer.pack(argument, 1) for name, argument in kwargs.items()
            }
        shared.send(request, packer, changed)
        shared.pinned.append(packer.seen)
        try:
            return self.read_reply(self.exchange(request), method)
        finally:
            shared.pinned.pop()

    def exchange(self, request):
        return messages.read(_exchange(messages.write(request)))[0]

    def read_reply(self, reply, method):
        if len(reply) == 2 and "value" in reply and type(reply["value"]) not in _STRUCTURED:
            return reply["value"]
        if "events" in reply:
            self.repeat(reply["events"])
        unpacker = values.Unpacker(self.reference, self.shared, reply.get("first", 0))
        if method != "plain":
            # Reading the plain value changes nothing, and may happen while values are being
            # compared.
            self.shared.receive(unpacker, reply.get("changed", ()))
        try:
            if "exited" in reply:
                code = reply["exited"]
                raise Ended(code if code is None or type(code) in (int, str) else 1)
            if "raised" in reply:
                raise failures.unpacked(self, reply["raised"], method)
            return unpacker.unpack(reply["value"])
        finally:
            self.shared.keep(unpacker)
            for number in reply.get("dropped", ()):
                self.shared.forget(number)

    def has_state(self):
        """Whether `add_state` may add something."""
        return False

    def add_state(self, request, packer):
        """Adds state to a request that the other instance needs."""

    def read_state(self, request, unpacker):
        """Reads what `add_state` of the other instance added."""

    # Answering requests.

    def answer(self, header):
        """Answers a request of the other instance."""
        shared = self.shared
        calls = len(shared.pinned)
        reply, result = {}, []
        try:
            result.append(self._do(header))
            if header["method"] == "plain":
                reply["value"] = values.Packer(self.export, ROOM, self._nothing).plain(result[0])
                return self._written(reply)
            if not shared.entries and values.is_flat(result[0]):
                reply["value"] = result[0]
                return self._written(reply)
            packer = values.Packer(self.export, ROOM, shared)
            changed = shared.changes(packer, True)
            reply["value"] = packer.pack(result.pop())
            shared.send(reply, packer, changed)
        except SystemExit as exit:
            reply = {"exited": exit_code(exit)}
        except BaseException as error:
            reply = {"raised": failures.packed(self, error)}
        finally:
            if "value" not in reply and shared.entries and len(shared.pinned) > calls:
                self._changes_before_failure(reply)
            del shared.pinned[calls:]
        packer = changed = None
        if shared.entries and (unused := shared.unused()):
            reply["dropped"] = unused
        return self._written(reply)

    def _written(self, reply):
        if events := self.take_events():
            reply["events"] = events
        return messages.write(reply)

    def take_events(self):
        """What happened here and must happen in the other instance as well."""
        return ()

    def _do(self, header):
        target, method, args = self.lent[header["target"]], header["method"], header["args"]
        if len(header) == _BARE and _STRUCTURED.isdisjoint(map(type, args)):
            self.shared.pinned.append(())
            return target if method == "plain" else self.do(target, method, args, {})
        unpacker = values.Unpacker(self.reference, self.shared, header.get("first", 0))
        self.shared.pinned.append(unpacker.seen)
        self.shared.receive(unpacker, header.get("changed", ()))
        self.read_state(header, unpacker)
        args = list(map(unpacker.unpack, args))
        kwargs = {
            str(name): unpacker.unpack(argument)
            for name, argument in header.get("kwargs", {}).items()
        }
        self.shared.keep(unpacker)
        for number in header.get("dropped", ()):
            self.shared.forget(number)
        unpacker = None
        return target if method == "plain" else self.do(target, method, args, kwargs)

    def _changes_before_failure(self, reply):
        """Adds the changes that a call made before it raised."""
        try:
            packer = values.Packer(self.export, ROOM, self.shared)
            changed = self.shared.changes(packer, True)
            self.shared.send(reply, packer, changed)
        except BaseException:
            reply.pop("changed", None)

    def do(self, target, method, args, kwargs):
        return operations.METHODS[method](target, *args, **kwargs)
