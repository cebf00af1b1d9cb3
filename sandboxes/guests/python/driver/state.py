"""State of the standard library that a test sets and the program sees: seeds, contexts, replaced
functions, streams.

State is sent in one direction. Changes that the program makes in its own library stay there:
numbers that it draws from `random` do not advance the test's generator. Only names that occur in
the test are watched, so a test that sets nothing has no extra cost.
"""

from . import isolation

isolation.own_builtins(globals())

import builtins  # noqa: E402
import decimal  # noqa: E402
import os  # noqa: E402
import random  # noqa: E402
import sys  # noqa: E402

from . import values  # noqa: E402

# Names that a test uses if it sets state.
_SEEDS = frozenset(("seed", "setstate"))
_DECIMAL = frozenset("getcontext setcontext localcontext DefaultContext".split())
_PATCHES = frozenset(
    "patch setattr monkeypatch object redirect_stdout redirect_stderr redirect_stdin".split()
)
_STREAMS = ("stdin", "stdout", "stderr")

# Attributes whose content is sent instead of the object.
_BY_CONTENT = (("sys", "argv"), ("os", "environ"))

_BUILTINS = frozenset(dir(builtins))

_MISSING = object()


class Watch:
    """State that the test may set, and what was last sent to the program."""

    def __init__(self, text, namespace):
        self.namespace = namespace
        names = text.all
        self._seeded = False
        if names & _SEEDS:
            self._watch_seeds()
        self._limits = "setrecursionlimit" in names
        self._environment = bool(names & {"environ", "putenv"})
        self._arguments = "argv" in names
        self._decimal = bool(names & _DECIMAL)
        # Module and attribute -> original value.
        self._replaceable = {}
        self._find_replaceable(names, text.strings, text.stored_attributes)
        self._own_builtins = sorted(text.stored & _BUILTINS)
        self.told = self._state(None) if self._active() else {}
        self.idle = not (self._active() or names & _SEEDS)

    def _active(self):
        return (
            self._limits
            or self._environment
            or self._arguments
            or self._decimal
            or self._replaceable
            or self._own_builtins
        )

    def _watch_seeds(self):
        for name in sorted(_SEEDS):
            setattr(random, name, self._noted(getattr(random, name)))

    def _noted(self, seed):
        def noted(*args, **kwargs):
            seed(*args, **kwargs)
            self._seeded = True

        noted.__name__ = noted.__qualname__ = seed.__name__
        noted.__module__ = "random"
        return noted

    def _find_replaceable(self, names, strings, stored):
        """Finds module attributes that the test may replace: those it assigns, and those it names
        if it patches anything.
        """
        attributes = set(stored)
        modules = {name for name in names if name in sys.stdlib_module_names}
        if names & _PATCHES:
            for text in strings:
                *path, last = text.split(".")
                attributes.add(last)
                if path and path[0] in sys.stdlib_module_names or path[:1] == ["builtins"]:
                    modules.add(".".join(path))
            if names & {"redirect_stdout", "redirect_stderr", "redirect_stdin"}:
                attributes.update(_STREAMS)
                modules.add("sys")
        if not attributes:
            return
        for name in sorted(modules):
            try:
                module = values.standard(name, "")
            except Exception:
                continue
            for attribute in sorted(attributes):
                if (
                    attribute in vars(module)
                    and not attribute.startswith("__")
                    and (name, attribute) not in _BY_CONTENT
                ):
                    self._replaceable[name, attribute] = vars(module)[attribute]

    def changes(self, packer):
        """State that has changed since it was last sent, packed, or `None` if nothing has
        changed.
        """
        changed = {}
        if self._seeded:
            self._seeded = False
            version, words, gauss = random.getstate()
            changed["random"] = [version, list(words), gauss]
        if self._active():
            now = self._state(packer)
            for part, value in now.items():
                if self.told.get(part) != value:
                    changed[part] = value
            self.told = now
        return changed or None

    def _state(self, packer):
        state = {}
        if self._limits:
            state["recursion"] = sys.getrecursionlimit()
        if self._environment:
            state["environment"] = dict(os.environ)
        if self._arguments:
            state["arguments"] = [str(argument) for argument in sys.argv]
        if self._decimal:
            context = decimal.getcontext()
            state["decimal"] = [
                context.prec,
                context.rounding,
                context.Emin,
                context.Emax,
                context.capitals,
                context.clamp,
                [signal.__name__ for signal, trapped in context.traps.items() if trapped],
            ]
        for (module, attribute), original in self._replaceable.items():
            now = vars(sys.modules[module]).get(attribute, _MISSING)
            if (
                now is not original
                and now is not _MISSING
                and packer is not None
                and not _is_noted(now)
            ):
                state[f"{module}:{attribute}"] = [packer.pack(now)]
            else:
                state[f"{module}:{attribute}"] = []
        for name in self._own_builtins:
            now = self.namespace.get(name, _MISSING)
            state[f"builtins:{name}"] = (
                [] if now is _MISSING or packer is None else [packer.pack(now)]
            )
        return state


def _is_noted(value):
    return (
        getattr(value, "__qualname__", "") in _SEEDS
        and getattr(value, "__module__", "") == "random"
    )


# The program's side.

_originals = {}


def apply(state, unpacker):
    """Sets the state that the test has set."""
    for part, value in state.items():
        if part == "random":
            version, words, gauss = value
            random.setstate((version, tuple(words), gauss))
        elif part == "recursion":
            sys.setrecursionlimit(value)
        elif part == "environment":
            os.environ.clear()
            os.environ.update(value)
        elif part == "arguments":
            sys.argv[:] = value
        elif part == "decimal":
            _set_decimal(value)
        else:
            _replace(*part.split(":"), value, unpacker)


def _set_decimal(value):
    precision, rounding, smallest, largest, capitals, clamp, traps = value
    context = decimal.getcontext()
    context.prec, context.rounding, context.capitals, context.clamp = (
        precision,
        rounding,
        capitals,
        clamp,
    )
    context.Emin, context.Emax = smallest, largest
    for signal in context.traps:
        context.traps[signal] = signal.__name__ in traps


def _replace(module, attribute, value, unpacker):
    namespace = vars(values.standard(module, ""))
    if value:
        _originals.setdefault((module, attribute), namespace.get(attribute, _MISSING))
        namespace[attribute] = unpacker.unpack(value[0])
    elif (module, attribute) in _originals:
        original = _originals.pop((module, attribute))
        if original is not _MISSING:
            namespace[attribute] = original
