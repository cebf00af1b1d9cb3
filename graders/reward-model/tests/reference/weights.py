"""Synthetic weights that can be computed in any language, so that none need to be stored.

The values of a tensor depend on its name and shape. The seed is FNV-1a-64 over the UTF-8 bytes of
the name (offset basis 0xcbf29ce484222325, prime 0x100000001b3). Value i, in row-major order, is
computed from the SplitMix64 output for the state seed + (i + 1) * 0x9E3779B97F4A7C15, modulo 2^64:

    z = state
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB
    z = z ^ (z >> 31)
    u = f32(z >> 40) / 2^24 - 0.5
    value = u * a + b

u is exact. The product and the sum are each rounded to f32. The first rule that applies defines a
and b:

    one dimension, name ends with `.weight`, contains "norm" (any case)    a = 0.4    b = 1
    one dimension                                                          a = 0.2    b = 0
    name contains "embed"                                                  a = 1      b = 0
    any other    a = sqrt(12) / sqrt(last dimension), in f64, rounded to f32    b = 0
"""

import json
import math
import pathlib

import numpy
from safetensors.numpy import save_file

ADVANCE, FIRST, SECOND = (
    numpy.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


def fnv(text):
    """FNV-1a-64 of the UTF-8 bytes of a text."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


def stream(name, count):
    """The first `count` outputs of the generator of a name, as unsigned 64-bit integers."""
    with numpy.errstate(over="ignore"):
        z = numpy.uint64(fnv(name)) + numpy.arange(1, count + 1, dtype=numpy.uint64) * ADVANCE
        z = (z ^ (z >> numpy.uint64(30))) * FIRST
        z = (z ^ (z >> numpy.uint64(27))) * SECOND
        return z ^ (z >> numpy.uint64(31))


def scale(name, shape):
    """Factor and addend of a tensor's values."""
    if len(shape) == 1:
        return (0.4, 1.0) if name.endswith(".weight") and "norm" in name.lower() else (0.2, 0.0)
    return (1.0 if "embed" in name else math.sqrt(12) / math.sqrt(shape[-1])), 0.0


def tensor(name, shape):
    """The tensor with this name and shape, in f32."""
    a, b = (numpy.float32(x) for x in scale(name, shape))
    u = (stream(name, math.prod(shape)) >> numpy.uint64(40)).astype(numpy.float32) / numpy.float32(
        2**24
    ) - numpy.float32(0.5)
    return (u * a + b).reshape(shape)


def write(case, directory):
    """Writes configuration and weights of a case as a directory for `transformers`."""
    directory = pathlib.Path(directory)
    (directory / "config.json").write_text(json.dumps(case["config"]))
    tensors = {name: tensor(name, shape) for name, shape in case["tensors"].items()}
    save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
