"""Writes the reference values: `cases.json` for models, `tokens.json` and `tokenizers/` for texts.

    pip install torch==2.15.0 transformers==5.23.0 tokenizers==0.23.3 safetensors numpy
    python make.py

`cases.json`: each case contains a configuration, names and shapes of tensors (`weights.py` defines
their values, `weights` contains samples), options as in `assay.json`, sequences of token ids (for
pairs, `second` is the start of the second text), the rows that the head reads, and the expected
output of each sequence: `scalar`, logits of `classes`, probabilities of `labels`, probabilities of
`steps`, or an `embedding` of length 1. `tokens` contains the ids of texts in the options.
`normalised` is (scalar - mean) / std.

`tokens.json`: for each tokenizer, the ids of every text with special tokens and, if they differ,
without them (`bare`); the ids and types of every pair; and for every conversation the rendered
`text`, its `ids` and the ids with an open assistant turn (`opened`), or the `error` of the
template; `sorted` has the ids where they change with the keys of all objects in alphabetical order.
Templates see the date `today`. A long list is represented by its `count` and `fnv`,
FNV-1a-64 over the ids as 32-bit little-endian numbers.
"""

import json
import os
import pathlib
import platform

os.environ["HF_HUB_OFFLINE"] = "1"

import torch  # noqa: E402
import transformers  # noqa: E402

from cases import CASES  # noqa: E402
from compute import expected, rows, shapes  # noqa: E402
from tokens import write_tokens  # noqa: E402
from weights import tensor  # noqa: E402

HERE = pathlib.Path(__file__).parent
FIELDS = (
    "name",
    "config",
    "options",
    "tokens",
    "tensors",
    "sequences",
    "second",
    "rows",
    "expected",
)
SAMPLES = (
    ("model.norm.weight", [48]),
    ("model.layers.0.self_attn.q_proj.bias", [48]),
    ("model.embed_tokens.weight", [320, 48]),
    ("score.weight", [1, 48]),
)


def computed(case):
    """A case with its tensors, rows and expected outputs."""
    case = case | {"tensors": shapes(case), "rows": rows(case)}
    case["expected"] = expected(case)
    return case


def sample(name, shape):
    """First and last values of a tensor, for checking another implementation of the generator."""
    values = [float(str(x)) for x in tensor(name, shape).reshape(-1)]
    return {"name": name, "shape": shape, "first": values[:4], "last": values[-1]}


def write_cases(path):
    """Writes the cases. Configurations in both formats must produce bit-identical outputs."""
    cases = [computed(case) for case in CASES]
    by_name = {case["name"]: case for case in cases}
    for case in cases:
        older = by_name[case["name"].removesuffix("-5")]
        assert case["expected"] == older["expected"] and case["tensors"] == older["tensors"], case[
            "name"
        ]
    versions = {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}
    made_by = {"python": platform.python_version()} | versions
    samples = json.dumps([sample(*one) for one in SAMPLES])
    head = f'"made_by": {json.dumps(made_by)},\n"weights": {samples}'
    lines = [
        json.dumps({key: case[key] for key in FIELDS if key in case}, separators=(",", ":"))
        for case in cases
    ]
    path.write_text("{\n" + head + ',\n"cases": [\n' + ",\n".join(lines) + "\n]\n}\n")


def main():
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    write_cases(HERE / "cases.json")
    write_tokens(HERE / "tokens.json")


if __name__ == "__main__":
    main()
