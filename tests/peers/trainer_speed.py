#!/usr/bin/env python3
"""Compares the speed of the trainer on the CPU with `transformers` and torch: a step of training,
and generating completions, in one run.

usage: trainer_speed.py PATH/TO/assay-trainer [--rounds N] [--only PART] | trainer_speed.py
--peer-only DIR [--rounds N] [--only PART]

Decoders of one and of ten million parameters with random weights, as `assay-trainer init` makes
them; with one thread and with two, in f32. Rounds of both take turns, and medians are compared.
`transformers` runs with eager attention and with SDPA, its quickest variant counts.

A step is forward, backward and AdamW on random tokens, where the loss is the mean negative
log-probability of all but the first token of each sequence; gradients are not clipped. Writing
draws from the whole distribution at temperature 1 and stops nowhere, so both sides write as many
tokens.

`assay-trainer bench step` answers `step_ms`, the median of so many steps, after one that is not
timed; `assay-trainer bench generate` answers `tokens` written and `ms`, after a first round that is
not timed. Loading is in neither.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import torch  # noqa: E402
import transformers  # noqa: E402

SHAPES = ("1m", "10m")
ATTENTION = ("eager", "sdpa")
THREADS = (1, 2)
STEP = {"batch": 16, "length": 64}
WRITING = {"prompts": 32, "prompt-length": 16, "new-tokens": 64, "samples": 4}


def tokens(model, rows, columns):
    """Random ids, the same every time."""
    return torch.randint(
        0, model.config.vocab_size, (rows, columns), generator=torch.Generator().manual_seed(0)
    )


def step(model, steps):
    """Median milliseconds of a training step."""
    model.train()
    ids = tokens(model, STEP["batch"], STEP["length"])
    # The fused optimiser is the fastest of torch on a CPU.
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    times = []
    for _ in range(steps + 1):
        begun = time.perf_counter()
        logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).backward()
        optimiser.step()
        optimiser.zero_grad()
        times.append(time.perf_counter() - begun)
    return 1e3 * statistics.median(times[1:])


def writing(model, _):
    """Tokens generated per second."""
    model.eval()
    ids = tokens(model, WRITING["prompts"], WRITING["prompt-length"])
    settings = transformers.GenerationConfig(
        do_sample=True,
        temperature=1.0,
        top_k=0,
        top_p=1.0,
        num_return_sequences=WRITING["samples"],
        min_new_tokens=WRITING["new-tokens"],
        max_new_tokens=WRITING["new-tokens"],
        pad_token_id=0,
    )
    with torch.inference_mode():
        model.generate(ids[:1], attention_mask=torch.ones_like(ids[:1]), generation_config=settings)
        begun = time.perf_counter()
        written = model.generate(
            ids, attention_mask=torch.ones_like(ids), generation_config=settings
        )
        seconds = time.perf_counter() - begun
    assert written.shape == (len(ids) * WRITING["samples"], ids.shape[1] + WRITING["new-tokens"]), (
        written.shape
    )
    return written[:, ids.shape[1] :].numel() / seconds


def asked(binary, *words, **flags):
    """The output of a command of the trainer."""
    flags = itertools.chain.from_iterable((f"--{key}", str(value)) for key, value in flags.items())
    done = subprocess.run([binary, *words, *flags], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def our_step(binary, directory, threads, steps):
    return asked(binary, "bench", "step", model=directory, **STEP, rounds=steps, threads=threads)[
        "step_ms"
    ]


def our_writing(binary, directory, threads, _):
    told = asked(binary, "bench", "generate", model=directory, **WRITING, rounds=1, threads=threads)
    assert told["tokens"] == WRITING["prompts"] * WRITING["samples"] * WRITING["new-tokens"], told
    return 1e3 * told["tokens"] / told["ms"]


PARTS = {"step": (our_step, step, "ms", min), "generate": (our_writing, writing, "tokens/s", max)}
"""Both sides of a comparison, the unit of their numbers, and which direction is better."""


def measured(given, part, directory, threads):
    """The median of each contender."""
    ours, theirs, *_ = PARTS[part]
    found = {}
    for turn in range(given.rounds):
        contenders = ["assay"] * (not given.peer_only) + list(ATTENTION)
        for who in contenders if turn % 2 == 0 else reversed(contenders):
            if who == "assay":
                number = ours(given.binary, directory, threads, given.steps)
            else:
                # A fresh model each time, because training changed the weights.
                torch.set_num_threads(threads)
                kind = transformers.AutoModelForCausalLM
                number = theirs(
                    kind.from_pretrained(directory, dtype=torch.float32, attn_implementation=who),
                    given.steps,
                )
            found.setdefault(who, []).append(number)
    return {who: statistics.median(numbers) for who, numbers in found.items()}


def compared(given, shape, directory):
    """Prints a row for each part and number of threads."""
    for part, (_, _, unit, better) in PARTS.items():
        if given.only not in part:
            continue
        for threads in THREADS:
            found = measured(given, part, directory, threads)
            ours = found.pop("assay", None)
            best = better(found, key=found.get)
            both = ours is not None
            ratio = (
                ""
                if not both
                else f"{ours / found[best] if better is min else found[best] / ours:.2f}"
            )
            ours = f"{ours:.1f}" if both else ""
            print(
                f"{shape:<7}{part:<10}{threads:>7}  {unit:<9}{ours:>9}{found[best]:>14.1f}{best:>7}{ratio:>7}",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=10, help="steps of a round of training")
    parser.add_argument(
        "--only", default="", help="time only parts whose name holds this: step, generate"
    )
    parser.add_argument(
        "--peer-only", metavar="DIR", help="time transformers alone on the model in this directory"
    )
    given = parser.parse_args()
    if (given.binary is None) == (given.peer_only is None):
        parser.error("either the trainer's binary or `--peer-only DIR`")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    print(
        f"torch {torch.__version__}, transformers {transformers.__version__}, f32, {given.rounds} rounds of each, ratio: our time over theirs,"
    )
    print(
        f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f} at the start: with other work beside it, threads of torch wait for each other"
    )
    print(
        f"{'shape':<7}{'part':<10}{'threads':>7}  {'unit':<9}{'assay':>9}{'transformers':>14}{'':>7}{'ratio':>7}"
    )
    if given.peer_only:
        compared(given, "", given.peer_only)
        return
    for shape in SHAPES:
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run(
                [given.binary, "init", "--shape", shape, "--output", f"{directory}/model"],
                capture_output=True,
                text=True,
            )
            if done.returncode:
                sys.exit(f"init ended with {done.returncode}: {done.stderr}")
            compared(given, shape, f"{directory}/model")


if __name__ == "__main__":
    main()
