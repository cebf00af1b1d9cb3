"""FlashAttention beside attention in tiles: scores and bits of decoders and encoders whose heads
have 64 and 128 numbers, with and without windows.
"""

import command
import parity
import torch
import transformers
from bits import VOCABULARY, differences, scores, sequences, ways_in_batches
from tokenizers import Tokenizer, models

# Scores in 16 bits may differ by this much more from those in f32 than those of tiles.
FACTOR = 2.0

SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 256,
    "intermediate_size": 384,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 1024,
    "num_labels": 1,
    "pad_token_id": 0,
}


def networks():
    """Models by name, with random weights."""
    kinds = transformers
    grouped = SIZES | {"num_key_value_heads": 2}
    encoder = SIZES | {"cls_token_id": 1, "sep_token_id": 2, "bos_token_id": 1, "eos_token_id": 2}
    configurations = {
        "qwen3, 128": kinds.Qwen3Config(**grouped, head_dim=128),
        "qwen3, 64": kinds.Qwen3Config(**grouped, head_dim=64),
        "mistral, 64, window": kinds.MistralConfig(**grouped, head_dim=64, sliding_window=100),
        "modernbert, 64, window": kinds.ModernBertConfig(**encoder, local_attention=64),
        "bert, 64": kinds.BertConfig(**SIZES),
    }
    for name, configuration in configurations.items():
        torch.manual_seed(0)
        kind = kinds.AutoModelForSequenceClassification
        yield name, kind.from_config(configuration).eval()


def write(folder, name, network):
    """Writes a model that reads ids."""
    network.save_pretrained(folder / name)
    tokenizer = Tokenizer(models.WordLevel({f"t{i}": i for i in range(VOCABULARY)}, unk_token="t0"))
    tokenizer.save(str(folder / name / "tokenizer.json"))


def has_flash(options, deadline):
    """Whether the binary contains FlashAttention."""
    asked = [options.assay, "models", "bench", "--shape", "0.1b", "--attention", "flash"]
    asked += ["--lengths", "1", "--tokens", "1", "--rounds", "1", "--device", options.device]
    try:
        command.run(asked, options, deadline)
    except command.Failed as error:
        if "built without" in str(error):
            return False
        raise
    return True


def run(options, folder, report, deadline):
    """One row for each model and type."""
    kernels = ["tiles"]
    if options.torch_device == "cpu":
        report.note("FlashAttention runs only on a GPU, so only tiles were tried")
    elif has_flash(options, deadline):
        kernels.append("flash")
    else:
        report.problem("the binary was built without FlashAttention")
    texts = sequences(options.small)[:: 5 if options.small else 1]
    rows = {}
    for name, network in networks():
        write(folder, name, network)
        for dtype in ("bf16",) if options.small else ("bf16", "f16"):
            rows[name, dtype] = {"model": name, "type": dtype, "sequences": len(texts)}
    exact, distances = {}, {}
    for kernel in kernels:
        with options.start(attention=kernel) as service:
            for (name, dtype), row in rows.items():
                if deadline.is_over():
                    report.problem(f"{name} in {dtype} with {kernel}: out of time")
                    return
                if name not in exact:
                    service.load("bits", name, dtype="f32")
                    exact[name] = scores(service, texts)
                service.load("bits", name, dtype=dtype)
                together, ways = ways_in_batches(service, texts)
                off = max(abs(one - other) for one, other in zip(exact[name], together))
                distances[name, dtype, kernel] = off
                differ = {way: count for way, count in differences(together, ways).items() if count}
                row |= {f"{kernel} from f32": f"{off:.1e}"}
                row |= {f"{kernel}, equal bits": "no" if differ else "yes"}
                if kernel == kernels[0]:
                    report.row(row)
                report.save()
                if differ:
                    report.problem(f"{name} in {dtype} with {kernel}: other scores {differ}")
    for name, dtype in rows:
        least = max(distances[name, dtype, "tiles"], float(torch.finfo(parity.TYPES[dtype]).eps))
        if distances.get((name, dtype, "flash"), 0.0) > FACTOR * least:
            report.problem(f"{name} in {dtype}: FlashAttention is further off than tiles")
