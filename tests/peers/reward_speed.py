#!/usr/bin/env python3
"""Compares the speed of reward models on the CPU with `transformers`: tokens per second of `assay
models bench` and of f32 with SDPA, in one run.

usage: reward_speed.py PATH/TO/assay [--rounds N] [--tokens N] [--only SHAPE] [--peer-only]

Two shapes: a decoder of 0.1 billion parameters with random weights, and a sentence encoder of the
size of MiniLM with weights by rule. Inputs of 64, 256 and 1,024 tokens alone, and lengths that vary
as answers do (lognormal, sigma 0.6, mean 256); with every core and with one. Rounds of both take
turns, and medians are compared. `transformers` gets batches of eight, padded on the right, in the
order of arrival and, where lengths vary, also sorted by length. Tokens are those of the inputs:
padding is work without a result, and its share is printed.

`assay models bench --model DIR --lengths L --tokens N --rounds 1 --threads N --device cpu --dtype
f32 --json` says which lengths the inputs had that it read, and the seconds for all of them;
`transformers` reads inputs of the same lengths. Assay packs inputs one behind the other, so it has
no padding.
"""

import argparse
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import torch  # noqa: E402
import transformers  # noqa: E402
from sentence_encoder import sentence_encoder  # noqa: E402

BATCH = 8
LENGTHS = ("64", "256", "1024", "mixed")
DECODER = {
    "hidden_size": 768,
    "intermediate_size": 2048,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
    "num_labels": 1,
    "pad_token_id": 0,
}


def decoder(folder):
    """A directory with a decoder of random weights."""
    torch.manual_seed(0)
    transformers.LlamaForSequenceClassification(
        transformers.LlamaConfig(**DECODER)
    ).save_pretrained(folder)
    return folder


SHAPES = {
    "decoder 0.1B": (decoder, "AutoModelForSequenceClassification", 1024),
    "MiniLM-sized": (sentence_encoder, "AutoModel", 512),
}
"""How the directory of a shape is written, the class that loads it, and its maximum number of
tokens.
"""


def drawn(name, tokens, most):
    """Lengths of inputs with about this total number of tokens."""
    if name != "mixed":
        return [int(name)] * max(1, tokens // int(name))
    rng, lengths = random.Random(0), []
    while sum(lengths) < tokens:
        lengths.append(
            min(most, max(1, round(rng.lognormvariate(5.365, 0.6))))
        )  # ln 256 - 0.6^2 / 2
    return lengths


def batches(lengths, vocabulary):
    """Padded batches of inputs in the given order, and the share of padding in them."""
    made, padded = [], 0
    generator = torch.Generator().manual_seed(0)
    for part in (lengths[at : at + BATCH] for at in range(0, len(lengths), BATCH)):
        ids = torch.zeros(len(part), max(part), dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, length in enumerate(part):
            ids[row, :length] = torch.randint(1, vocabulary, (length,), generator=generator)
            mask[row, :length] = 1
        made.append({"input_ids": ids, "attention_mask": mask})
        padded += ids.numel() - sum(part)
    return made, padded / (padded + sum(lengths))


def theirs(model, lengths, threads):
    """Seconds that `transformers` takes for inputs in this order, and the share of padding."""
    torch.set_num_threads(threads)
    made, padding = batches(lengths, model.config.vocab_size)
    more = (
        {"use_cache": False}
        if isinstance(model, transformers.LlamaForSequenceClassification)
        else {}
    )
    with torch.inference_mode():
        model(**made[0], **more)
        begun = time.perf_counter()
        for batch in made:
            model(**batch, **more)
        return time.perf_counter() - begun, padding


def ours(binary, directory, name, tokens, threads):
    """Lengths, seconds and share of padding of one round of `assay models bench`."""
    settings = {
        "model": directory,
        "lengths": name,
        "tokens": tokens,
        "rounds": 1,
        "threads": threads,
        "device": "cpu",
        "dtype": "f32",
    }
    flags = itertools.chain.from_iterable(
        (f"--{key}", str(value)) for key, value in settings.items()
    )
    done = subprocess.run(
        [binary, "models", "bench", *flags, "--json"], capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"assay models bench ended with {done.returncode}: {done.stderr}")
    row = json.loads(done.stdout)["rows"][0]
    if not row["invariant"]:
        sys.exit(f"inputs of {name} tokens had other bits alone than in their batch")
    return row["lengths"], row["seconds"], 0.0


def measured(given, model, directory, name, threads, most):
    """Tokens a second and shares of padding of every contender, round by round."""
    rates, paddings = {}, {}
    lengths = drawn(name, given.tokens, most)

    def note(who, seconds, padding):
        rates.setdefault(who, []).append(sum(lengths) / seconds)
        paddings[who] = padding

    for turn in range(given.rounds):
        contenders = (
            ["assay"] * (not given.peer_only)
            + ["transformers"]
            + ["transformers, sorted"] * (name == "mixed")
        )
        for who in contenders if turn % 2 == 0 else reversed(contenders):
            if who == "assay":
                lengths, *told = ours(given.binary, directory, name, given.tokens, threads)
                note(who, *told)
            else:
                note(who, *theirs(model, sorted(lengths) if "sorted" in who else lengths, threads))
    return {who: (statistics.median(rate), paddings[who]) for who, rate in rates.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=4096, help="tokens of a round")
    parser.add_argument("--only", default="", help="time only shapes whose name holds this")
    parser.add_argument("--peer-only", action="store_true", help="time transformers alone")
    given = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    cores = len(os.sched_getaffinity(0))
    print(
        f"torch {torch.__version__}, transformers {transformers.__version__}, f32, {given.tokens} tokens a round, {given.rounds} rounds,"
    )
    print(
        f"{cores} cores, load {os.getloadavg()[0]:.1f} at the start: with other work beside it, several threads of torch wait for each other"
    )
    print(
        f"{'shape':<14}{'lengths':>8}{'threads':>9}  {'':<22}{'tokens/s':>9}{'padding':>9}{'ratio':>7}"
    )
    for shape, (made, kind, most) in SHAPES.items():
        if given.only not in shape:
            continue
        with tempfile.TemporaryDirectory() as folder:
            directory = made(folder)
            model = (
                getattr(transformers, kind)
                .from_pretrained(directory, dtype=torch.float32, attn_implementation="sdpa")
                .eval()
            )
            fits = (name for name in LENGTHS if name == "mixed" or int(name) <= most)
            for name, threads in itertools.product(fits, dict.fromkeys((cores, 1))):
                found = measured(given, model, directory, name, threads, most)
                for who, (rate, padding) in found.items():
                    ratio = (
                        ""
                        if who == "assay" or given.peer_only
                        else f"{found['assay'][0] / rate:.2f}"
                    )
                    print(
                        f"{shape:<14}{name:>8}{threads:>9}  {who:<22}{rate:>9.0f}{padding:>9.1%}{ratio:>7}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
