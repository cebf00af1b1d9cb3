"""Steps of the trainer at 0.6 billion parameters, and the parity of its gradients."""

import json
import pathlib
import subprocess
import sys

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


def run(options, folder, deadline):
    """One row for the speed of a step and one for parity, and what failed."""
    rows, problems = [], []
    model = folder / "policy"
    torch.manual_seed(0)
    transformers.Qwen3ForCausalLM(config(options.small)).save_pretrained(model)
    batch, length = (4, 32) if options.small else (8, 512)
    command = [options.trainer, "bench", "step", "--model", str(model), "--rounds", "5"]
    command += ["--batch", str(batch), "--length", str(length)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        problems.append(f"{' '.join(command)}: {done.stderr.strip()}")
    else:
        milliseconds = json.loads(done.stdout)["step_ms"]
        rows.append(
            {
                "part": "step",
                "result": f"{milliseconds:.0f} ms, {1e3 * batch * length / milliseconds:.0f} "
                "tokens/s",
            }
        )
    if deadline.is_over():
        return rows, [*problems, "parity: out of time"]
    command = [sys.executable, str(PEERS / "trainer_parity.py"), options.trainer]
    done = subprocess.run(command, capture_output=True, text=True)
    rows.append({"part": "parity", "result": "equal" if done.returncode == 0 else "differs"})
    if done.returncode:
        problems.append(f"parity of the trainer: {done.stdout[-500:]}{done.stderr[-500:]}")
    return rows, problems
