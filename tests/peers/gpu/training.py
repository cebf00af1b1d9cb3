"""A minute of steps of the trainer at 0.6 billion parameters, beside torch, and the parity of its
losses and gradients.
"""

import json
import pathlib
import statistics
import sys
import time

import command
import torch
import transformers

PEERS = pathlib.Path(__file__).resolve().parents[1]


def config(small):
    """Qwen3-0.6B, or a model of a tenth of a million parameters."""
    if small:
        return transformers.Qwen3Config(
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            vocab_size=256,
        )
    return transformers.Qwen3Config(
        hidden_size=1024,
        intermediate_size=3072,
        num_hidden_layers=28,
        num_attention_heads=16,
        num_key_value_heads=8,
        head_dim=128,
        vocab_size=151_936,
        tie_word_embeddings=True,
    )


def steps(options, model, rounds, batch, length, deadline):
    """What the trainer reports about its steps, and GiB of memory."""
    asked = [options.trainer, "bench", "step", "--model", model, "--rounds", rounds]
    asked += ["--batch", batch, "--length", length]
    output, memory = command.run(asked, options, deadline)
    return json.loads(output), memory


def line(rounds, timed, memory):
    """The row of these steps."""
    return {
        "part": "step",
        "rounds": rounds,
        "ms": f"{timed['step_ms']:.1f}",
        "forward": f"{timed['forward_ms']:.1f}",
        "backward": f"{timed['backward_ms']:.1f}",
        "optimiser": f"{timed['optimiser_ms']:.1f}",
        "tokens/s": f"{timed['tokens_s']:.0f}",
        "GiB": f"{memory:.2f}",
    }


def step_of_torch(options, model, batch, length, deadline):
    """Milliseconds of a step of torch in f32 with SDPA, the median of five after the first."""
    kind = transformers.Qwen3ForCausalLM
    network = kind.from_pretrained(model, dtype=torch.float32).to(options.torch_device).train()
    ids = torch.randint(0, network.config.vocab_size, (batch, length), device=network.device)
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=True)
    times = []
    for _ in range(6):
        begun = time.perf_counter()
        # The reference cases disable gradients.
        with torch.enable_grad():
            logits = network(input_ids=ids, use_cache=False).logits[:, :-1].flatten(0, 1)
            torch.nn.functional.cross_entropy(logits, ids[:, 1:].flatten()).backward()
        optimiser.step()
        optimiser.zero_grad()
        if options.torch_device != "cpu":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begun)
        if deadline.is_over():
            break
    return 1e3 * statistics.median(times[1:] or times)


def run(options, folder, report, deadline):
    """One row for the speed of a step and one for parity."""
    try:
        parity(options, report, deadline)
    except command.Failed as error:
        report.problem(f"parity of the trainer: {error}")
    model = folder / "policy"
    torch.manual_seed(0)
    with torch.device(options.torch_device):
        network = transformers.Qwen3ForCausalLM(config(options.small))
    network.save_pretrained(model)
    del network
    # On a GPU, every intermediate result of a batch is kept: 8 texts take 96 GiB.
    batch, length = (4, 32) if options.small else (2, 512)
    # A few rounds tell how many fit into a minute, and into what is left of the part.
    timed, memory = steps(options, model, 3, batch, length, deadline)
    row = line(3, timed, memory)
    report.row(row)
    seconds = 2 if options.small else min(60, 0.6 * deadline.remaining())
    rounds = int(1e3 * seconds / timed["step_ms"])
    if rounds > 3:
        timed, memory = steps(options, model, rounds, batch, length, deadline)
        row |= line(rounds, timed, memory)
        report.save()
    if deadline.is_over():
        report.note("out of time for a step of torch")
        return
    theirs = step_of_torch(options, model, batch, length, deadline)
    row["times torch"] = f"{theirs / timed['step_ms']:.2f}"
    report.save()


def parity(options, report, deadline):
    """Losses and gradients of small decoders of every family, compared with float64."""
    script = PEERS / "trainer_parity.py"
    command.run([sys.executable, script, options.trainer], options, deadline)
    report.row({"part": "parity of losses and gradients", "result": "equal"})
