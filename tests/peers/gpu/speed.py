"""Speed of reward models with random weights, compared with `transformers` with SDPA and, where it
can be imported, FlashAttention; and their share of the device's speed at large products.
"""

import json
import statistics
import subprocess
import time

import torch
import transformers

# Hidden size, size of the MLP, layers, query heads, key heads; the sizes of `assay models bench`.
SHAPES = {
    "0.1b": ("Llama", 768, 2048, 12, 12, 4, 64, 32_000),
    "qwen3-0.6b": ("Qwen3", 1024, 3072, 28, 16, 8, 128, 151_936),
    "qwen3-1.7b": ("Qwen3", 2048, 6144, 28, 16, 8, 128, 151_936),
    "qwen3-4b": ("Qwen3", 2560, 9728, 36, 32, 8, 128, 151_936),
    "qwen3-8b": ("Qwen3", 4096, 12_288, 36, 32, 8, 128, 151_936),
}
GROUPS = "512+128x8"
BATCH = 16


def peer(name, options, attention):
    """A model of `transformers` with random weights."""
    kind, hidden, inner, layers, heads, kv_heads, head_dim, vocabulary = SHAPES[name]
    config = getattr(transformers, f"{kind}Config")(
        hidden_size=hidden,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head_dim,
        vocab_size=vocabulary,
        max_position_embeddings=16_384,
        num_labels=1,
        pad_token_id=0,
    )
    config._attn_implementation = attention
    torch.set_default_dtype(options.torch_dtype)
    try:
        with torch.device(options.torch_device):
            model = getattr(transformers, f"{kind}ForSequenceClassification")(config)
    finally:
        torch.set_default_dtype(torch.float32)
    return model.eval()


def synchronise(options):
    if options.torch_device != "cpu":
        torch.cuda.synchronize()


def seconds_of_peer(model, lengths, options):
    """Seconds for padded batches of these lengths, the median of three rounds after the first."""
    vocabulary = model.config.vocab_size
    batches = []
    for at in range(0, len(lengths), BATCH):
        part = lengths[at : at + BATCH]
        ids = torch.randint(1, vocabulary, (len(part), max(part)), device=options.torch_device)
        columns = torch.arange(max(part), device=options.torch_device)
        mask = (columns < torch.tensor(part, device=options.torch_device)[:, None]).long()
        batches.append({"input_ids": ids * mask, "attention_mask": mask})
    times = []
    with torch.inference_mode():
        for _ in range(2 if options.small else 4):
            synchronise(options)
            begun = time.perf_counter()
            for batch in batches:
                model(**batch, use_cache=False)
            synchronise(options)
            times.append(time.perf_counter() - begun)
    return statistics.median(times[1:])


def ceiling(options):
    """Floating-point operations a second of large products."""
    size = 512 if options.small else 8192
    one = torch.randn(size, size, device=options.torch_device, dtype=options.torch_dtype)
    times = []
    for _ in range(8):
        synchronise(options)
        begun = time.perf_counter()
        one @ one
        synchronise(options)
        times.append(time.perf_counter() - begun)
    return 2 * size**3 / min(times[1:])


def own(binary, name, lengths, tokens, options):
    """The rows of `assay models bench`."""
    command = [binary, "models", "bench", "--shape", name, "--lengths", lengths, "--json"]
    command += ["--device", options.device, "--dtype", options.dtype, "--tokens", str(tokens)]
    command += ["--rounds", "1" if options.small else "3"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def used_memory(options):
    """Memory of the device in use, in GiB."""
    if options.torch_device == "cpu":
        return None
    free, total = torch.cuda.mem_get_info()
    return (total - free) / 2**30


def run(options, folder, deadline):
    """One row for each shape and length, and what failed."""
    lengths = "64,mixed" if options.small else f"256,1024,4096,mixed,{GROUPS}"
    tokens = 512 if options.small else 131_072
    peak = ceiling(options)
    rows = [{"shape": "product", "length": "", "TFLOP/s": f"{peak / 1e12:.1f}"}]
    problems = []
    attentions = ["sdpa"]
    try:
        import flash_attn  # noqa: F401

        attentions.append("flash_attention_2")
    except ImportError:
        problems.append("note: FlashAttention cannot be imported, so it was not compared")
    for name in ["0.1b"] if options.small else [name for name in SHAPES if name != "0.1b"]:
        if deadline.is_over():
            problems.append(f"{name}: out of time")
            continue
        try:
            report = own(options.assay, name, lengths, tokens, options)
        except RuntimeError as error:
            problems.append(str(error))
            continue
        peers = {}
        for attention in attentions:
            try:
                peers[attention] = peer(name, options, attention)
            except Exception as error:  # the others are compared
                problems.append(f"{name} with {attention}: {error}")
        for row in report["rows"]:
            if not row["invariant"]:
                problems.append(f"{name}, {row['length']}: other bits alone than in a batch")
            line = {
                "shape": name,
                "length": row["length"],
                "tokens/s": f"{row['tokens_per_second']:.0f}",
                "TFLOP/s": f"{row['gflops'] / 1e3:.1f}",
                "share": f"{row['gflops'] * 1e9 / peak:.2f}",
            }
            for attention, model in peers.items():
                for order in ("", ", sorted") if row["length"] == "mixed" else ("",):
                    given = sorted(row["lengths"]) if order else row["lengths"]
                    theirs = seconds_of_peer(model, given, options)
                    line[f"times {attention}{order}"] = f"{theirs / row['seconds']:.2f}"
            rows.append(line)
        if (memory := used_memory(options)) is not None:
            rows[-1]["GiB in use"] = f"{memory:.1f}"
        del peers
        if options.torch_device != "cpu":
            torch.cuda.empty_cache()
    return rows, [problem for problem in problems if problem]
