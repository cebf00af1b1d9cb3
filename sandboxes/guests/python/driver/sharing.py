"""Containers that both instances have, so that a list that is passed behaves like one list even if
the program keeps it.

Each instance has its own copy under the same number, and knows the content of the other copy. Every
message contains the content of containers that have changed since the last one, and the numbers of
those that nothing else in the sender refers to any more.
"""

from . import isolation

isolation.own_builtins(globals())

import sys  # noqa: E402

# Maximum number of elements of shared containers that are checked for changes with each message.
# The check takes about as long as the message. Beyond this, containers are shared only during a
# call.
BUDGET = 4_000

# Cost of a container in addition to its elements.
_EACH = 40

# Reference count of a container that only the table refers to: the table's reference and the
# argument of `getrefcount`.
_UNUSED = 2

_references = sys.getrefcount


class Shared:
    """This instance's side of the table. `first` is 0 or 1, so that the two instances assign
    different numbers.
    """

    def __init__(self, first):
        self.next = first
        # Number -> [container, kind, what the other instance's copy holds].
        self.entries = {}
        self.numbers = {}
        # Numbers that calls in progress use, a set for each call.
        self.pinned = []

    # Sending.

    def changes(self, packer, ends_call):
        """Packs what changed since the last message."""
        if not self.entries:
            return []
        entries = self._looked_at(ends_call)
        changed = []
        for number, (container, kind, before) in entries.items():
            if not kind.same(container, before):
                changed.append([number, kind.pack(packer, container, 1)])
        return changed

    def _looked_at(self, ends_call):
        if _cost(self.entries) <= BUDGET:
            return self.entries
        kept = self._kept()
        looked_at = dict(kept) if _cost(kept) <= BUDGET else {}
        if ends_call:
            looked_at |= {
                number: self.entries[number] for number in self.pinned[-1] if number in self.entries
            }
        return looked_at

    def _kept(self):
        """Entries that no call in progress uses."""
        if not any(self.pinned):
            return self.entries
        pinned = set().union(*self.pinned)
        return {number: entry for number, entry in self.entries.items() if number not in pinned}

    def send(self, header, packer, changed):
        """Adds a message's containers to the table once the whole message is packed."""
        for number, _ in changed:
            if number in self.entries:
                entry = self.entries[number]
                entry[2] = entry[1].snapshot(entry[0])
        if changed:
            header["changed"] = changed
        if packer.containers:
            header["first"] = packer.containers[0][0]
            self.next = packer.next
            self._add(packer.containers)

    def unused(self):
        """Forgets containers that nothing else here refers to, and returns their numbers. Outer
        containers are forgotten first.
        """
        dropped = []
        if not self.entries:
            return dropped
        kept = self._kept()
        over = _cost(kept) > BUDGET
        numbers = list(kept)
        kept = None
        while True:
            before = len(dropped)
            for number in numbers:
                if number in self.entries and (
                    over or _references(self.entries[number][0]) <= _UNUSED
                ):
                    self.forget(number)
                    dropped.append(number)
            if not self.entries or len(dropped) == before:
                return dropped

    # Receiving.

    def receive(self, unpacker, changed):
        """Updates containers. Those that were forgotten here in the meantime are skipped."""
        for number, content in changed:
            if number in self.entries:
                container, kind, _ = self.entries[number]
                unpacker.refill(container, kind, content)
        for number, _ in changed:
            if number in self.entries:
                entry = self.entries[number]
                entry[2] = entry[1].snapshot(entry[0])

    def keep(self, unpacker):
        """Adds a message's containers to the table once the whole message is read."""
        self._add(
            (number, container, kind) for number, (container, kind) in unpacker.containers.items()
        )

    def forget(self, number):
        entry = self.entries.pop(number, None)
        if entry is not None:
            self.numbers.pop(id(entry[0]), None)

    def _add(self, numbered):
        for number, container, kind in numbered:
            self.forget(number)
            self.entries[number] = [container, kind, kind.snapshot(container)]
            self.numbers[id(container)] = number


def _cost(entries):
    cost = 0
    for container, kind, _ in entries.values():
        cost += kind.size(container) + _EACH
    return cost
