"""Writes `cases.json`: what reference implementations say of small models, sequence by sequence.

    pip install torch==2.15.0 transformers==5.23.0 safetensors numpy
    python make.py

`weights` samples the generator. Each case holds a configuration, names and shapes of tensors whose values `weights.py` defines, options as in `assay.json`, sequences
of token ids (for pairs, `second` is where the second text begins), the rows the head reads, and what is expected of each sequence:
`scalar`, logits of `classes`, probabilities of `labels`, probabilities of `steps`, or an `embedding` of length 1. `tokens` gives the ids
of texts in the options. `normalised` is (scalar - mean) / std.
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
from weights import tensor  # noqa: E402

FIELDS = ("name", "config", "options", "tokens", "tensors", "sequences", "second", "rows", "expected")
SAMPLES = (
    ("model.norm.weight", [48]),
    ("model.layers.0.self_attn.q_proj.bias", [48]),
    ("model.embed_tokens.weight", [320, 48]),
    ("score.weight", [1, 48]),
)


def computed(case):
    """A case with its tensors, rows and expectations."""
    case = case | {"tensors": shapes(case), "rows": rows(case)}
    case["expected"] = expected(case)
    return case


def sample(name, shape):
    """First and last values of a tensor, to check another generator against."""
    values = [float(str(x)) for x in tensor(name, shape).reshape(-1)]
    return {"name": name, "shape": shape, "first": values[:4], "last": values[-1]}


def main():
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    cases = [computed(case) for case in CASES]
    by_name = {case["name"]: case for case in cases}
    for case in cases:
        older = by_name[case["name"].removesuffix("-5")]
        assert case["expected"] == older["expected"] and case["tensors"] == older["tensors"], case["name"]
    made_by = {"python": platform.python_version(), "torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}
    head = f'"made_by": {json.dumps(made_by)},\n"weights": {json.dumps([sample(*one) for one in SAMPLES])}'
    lines = [json.dumps({key: case[key] for key in FIELDS if key in case}, separators=(",", ":")) for case in cases]
    text = "{" + head + ',\n"cases": [\n' + ",\n".join(lines) + "\n]}\n"
    pathlib.Path(__file__).with_name("cases.json").write_text(text)
    print(f"{len(cases)} cases, {len(text)} bytes")


if __name__ == "__main__":
    main()
