#!/usr/bin/env python3
"""Compares the log-probabilities and gradients of the trainer's decoder with `transformers` and
torch, on the same files.

usage: trainer_parity.py PATH/TO/assay-trainer [--only NAME]

Small decoders of every family, written by `transformers` with random weights: grouped heads,
biases, tied and untied heads over the vocabulary, windows, scaled positions. Sequences have several
lengths, so that batches are ragged. Two parts: the log-probability of every token behind the first,
and the norm of every parameter's gradient, where the loss is the mean negative log-probability over
all those tokens. `transformers` computes in float64, one sequence at a time, so nothing of it is
padded. Fails where a number is further off than its part allows, or where one side has a parameter
that the other lacks.

`assay-trainer score --model DIR --input FILE` reads a line `{"prompt": [..], "completion": [..]}` a
sequence and answers one with `log_probs`, a number for each token of the completion. `assay-trainer
bench gradients --model DIR --input FILE` answers one object: the `loss` and `norms` of its
gradients by the names of the tensors in the file; a tied head is the embedding's.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import torch  # noqa: E402
import transformers  # noqa: E402

LOGPROBS, GRADIENTS = 1e-5, 1e-4
"""Largest difference of a log-probability, and largest relative difference of a norm or of the
loss.
"""
LENGTHS = (2, 3, 17, 40, 64)
SIZES = {
    "vocab_size": 97,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 12,
    "max_position_embeddings": 256,
    "initializer_range": 0.15,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
WINDOW = {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1}
CASES = {
    "llama": ("llama", {"tie_word_embeddings": False}),
    "llama tied, biases": (
        "llama",
        {"tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True},
    ),
    "llama scaled positions": ("llama", {"tie_word_embeddings": False, "rope_parameters": LLAMA3}),
    "qwen2": ("qwen2", {"tie_word_embeddings": False}),
    "qwen2 tied, windows": ("qwen2", {"tie_word_embeddings": True, **WINDOW}),
    "qwen3": ("qwen3", {"tie_word_embeddings": False}),
    "qwen3 tied": ("qwen3", {"tie_word_embeddings": True}),
    "mistral windows": ("mistral", {"tie_word_embeddings": False, "sliding_window": 8}),
}


def written(folder, family, more):
    """Writes a decoder with random weights in float32, and reads it again in float64."""
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(
        transformers.AutoConfig.for_model(family, **SIZES, **more)
    )
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if (
                parameter.ndim == 1
            ):  # Norms start at 1 and biases at 0, which would hide a wrong one.
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
    model.save_pretrained(folder)
    return transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float64, attn_implementation="eager"
    )


def sequences():
    """Token ids of every length."""
    generator = torch.Generator().manual_seed(1)
    return [
        torch.randint(0, SIZES["vocab_size"], (length,), generator=generator) for length in LENGTHS
    ]


def theirs(model, inputs):
    """Log-probabilities of every sequence, the loss, and norms of its gradients by name."""
    found = []
    for ids in inputs:
        logits = model(ids[None, :-1], use_cache=False).logits[0].double()
        found.append(torch.log_softmax(logits, -1).gather(1, ids[1:, None])[:, 0])
    loss = -torch.cat(found).mean()
    loss.backward()
    norms = {name: parameter.grad.norm().item() for name, parameter in model.named_parameters()}
    return [one.tolist() for one in found], loss.item(), norms


def asked(binary, *words):
    """The values that a command of the trainer prints, one per line."""
    done = subprocess.run([binary, *words], capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))} ended with {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def furthest(one, other):
    """The largest difference of two lists; infinite if one is longer or a number is missing."""
    if len(one) != len(other) or not all(math.isfinite(number) for number in one):
        return math.inf
    return max(abs(a - b) for a, b in zip(one, other))


def off(found, expected):
    """The difference of a number relative to the expected one, which is above 0; infinite where it
    is none.
    """
    return abs(found - expected) / expected if math.isfinite(found) else math.inf


def compared(binary, folder, family, more):
    """Largest differences of log-probabilities and of gradients, and the parameter that the latter
    is of.
    """
    inputs = sequences()
    logprobs, loss, norms = theirs(written(folder, family, more), inputs)
    tokens = pathlib.Path(folder) / "tokens.jsonl"
    tokens.write_text(
        "".join(
            json.dumps({"prompt": ids[:1].tolist(), "completion": ids[1:].tolist()}) + "\n"
            for ids in inputs
        ),
        encoding="utf-8",
    )
    scored = asked(binary, "score", "--model", folder, "--input", tokens)
    if len(scored) != len(inputs):
        sys.exit(f"{len(inputs)} sequences were scored with {len(scored)} lines")
    far = max(furthest(ours["log_probs"], expected) for ours, expected in zip(scored, logprobs))
    (told,) = asked(binary, "bench", "gradients", "--model", folder, "--input", tokens)
    if different := set(told["norms"]) ^ set(norms):
        sys.exit(f"only one side has gradients of {', '.join(sorted(different))}")
    distances = {name: off(told["norms"][name], norm) for name, norm in norms.items()} | {
        "loss": off(told["loss"], loss)
    }
    worst = max(distances, key=distances.get)
    return far, distances[worst], worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--only", default="", help="compare only cases whose name holds this")
    given = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    failed = False
    print(f"torch {torch.__version__}, transformers {transformers.__version__}, float64")
    print(f"{'decoder':<24}{'log-probabilities':>18}{'gradients':>11}  furthest")
    for name, (family, more) in CASES.items():
        if given.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            far, gradient, worst = compared(given.binary, folder, family, more)
        bad = not (far <= LOGPROBS and gradient <= GRADIENTS)
        failed |= bad
        print(f"{name:<24}{far:>18.1e}{gradient:>11.1e}  {worst}{'   TOO FAR' * bad}", flush=True)
    sys.exit(f"allowed are {LOGPROBS:.0e} and {GRADIENTS:.0e}" if failed else 0)


if __name__ == "__main__":
    main()
