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

from . import events, values  # noqa: E402

# Names that a test uses if it sets state.
_SEEDS = frozenset(("seed", "setstate", "set_state"))
_DECIMAL = frozenset("getcontext setcontext localcontext DefaultContext".split())
_PATCHES = frozenset("patch setattr monkeypatch object".split())
_STREAMS = ("stdin", "stdout", "stderr")
_REDIRECTIONS = frozenset(
    "redirect_stdout redirect_stderr redirect_stdin capsys capsysbinary capfd capfdbinary".split()
)

# Attributes whose content is sent instead of the object.
_BY_CONTENT = (("sys", "argv"), ("os", "environ"))

# Parts of the state that are sent even if the test never changes them.
_ALWAYS = ("levels", "warnings")

_BUILTINS = frozenset(dir(builtins))

_MISSING = object()


def _random_state():
    version, words, gauss = random.getstate()
    return [version, list(words), gauss]


def _set_random_state(value):
    version, words, gauss = value
    random.setstate((version, tuple(words), gauss))


# Modules with a global random generator: name -> module, function that returns the state, function
# that sets the state.
GENERATORS = {"random": (random, _random_state, _set_random_state)}


class Watch:
    """State that the test may set, and what was last sent to the program."""

    def __init__(self, text, namespace, solution):
        self.namespace = namespace
        names = text.all | text.parameters
        # Names of the generators whose state the test has set.
        self._seeded = set()
        if names & _SEEDS:
            self._watch_seeds()
        # Attributes may also be named in strings: `patch("sys.argv", ...)`.
        named = names | {string.rpartition(".")[2] for string in text.strings}
        self._limits = "setrecursionlimit" in names
        self._environment = bool(named & {"environ", "putenv", "setenv", "delenv"})
        self._folder = "chdir" in names
        self._arguments = "argv" in named
        self._decimal = bool(names & _DECIMAL)
        self._logs = bool(names & events.LOGS)
        self._warnings = bool(names & events.WARNINGS)
        self._levels = events.levels() if self._logs else {}
        # Module and attribute -> original value.
        self._replaceable = {}
        strings = {string.removeprefix(f"{solution}.") for string in text.strings}
        self._find_replaceable(names, strings, text.stored_attributes)
        self._own_builtins = sorted(text.stored & _BUILTINS)
        self.told = self._state(None) if self._active() else {}
        # What the program must know in any case.
        self.told = {part: value for part, value in self.told.items() if part not in _ALWAYS}
        self.idle = not (self._active() or names & _SEEDS)

    def _active(self):
        return (
            self._limits
            or self._environment
            or self._folder
            or self._arguments
            or self._decimal
            or self._logs
            or self._warnings
            or self._replaceable
            or self._own_builtins
        )

    def _watch_seeds(self):
        for generator, (module, *_) in GENERATORS.items():
            for name in sorted(_SEEDS & vars(module).keys()):
                setattr(module, name, self._noted(getattr(module, name), generator))

    def _noted(self, seed, generator):
        def noted(*args, **kwargs):
            seed(*args, **kwargs)
            self._seeded.add(generator)

        noted.__name__ = noted.__qualname__ = seed.__name__
        noted.__module__ = generator
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
        if names & _REDIRECTIONS:
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
        for generator in sorted(self._seeded):
            changed[generator] = GENERATORS[generator][1]()
        self._seeded.clear()
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
        if self._folder:
            state["folder"] = os.getcwd()
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
        if self._logs:
            levels = events.levels()
            state["levels"] = {
                name: level for name, level in levels.items() if self._levels.get(name) != level
            }
        if self._warnings:
            state["warnings"] = True
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
        and getattr(value, "__module__", "") in GENERATORS
    )


# The program's side.

_originals = {}
collector = events.Collector()


def apply(state, unpacker):
    """Sets the state that the test has set."""
    for part, value in state.items():
        if part in GENERATORS:
            GENERATORS[part][2](value)
        elif part == "recursion":
            sys.setrecursionlimit(value)
        elif part == "environment":
            os.environ.clear()
            os.environ.update(value)
        elif part == "folder":
            os.chdir(value)
        elif part == "arguments":
            sys.argv[:] = value
        elif part == "decimal":
            _set_decimal(value)
        elif part == "levels":
            collector.collect_logs(value)
        elif part == "warnings":
            collector.collect_warnings()
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
