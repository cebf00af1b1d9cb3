"""Speed and memory of reward models with random weights, compared with `transformers` with SDPA
and, where it can be imported, FlashAttention; and their share of the device's speed at large
products.
"""

import json
import statistics
import time

import command
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

# Rows of a product; 0 lets the library choose a kernel by the batch.
PRODUCT_ROWS = (256, 1024, 4096, 0)

# Tokens of a round: fewer for larger models, so that all fit into the time.
TOKENS = {"qwen3-0.6b": 65_536, "qwen3-1.7b": 32_768}
TOKENS_OF_OTHERS = 16_384
TOKENS_OF_TILES = 8_192


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


def own(name, lengths, options, deadline, **settings):
    """The rows of `assay models bench`, and GiB of memory."""
    tokens = 512 if options.small else TOKENS.get(name, TOKENS_OF_OTHERS)
    if settings.get("attention") == "tiles":
        tokens = min(tokens, TOKENS_OF_TILES)
    asked = [options.assay, "models", "bench", "--shape", name, "--lengths", lengths, "--json"]
    asked += ["--device", options.device, "--dtype", options.dtype, "--tokens", tokens]
    asked += ["--rounds", "1" if options.small else "3"]
    for setting, value in settings.items():
        asked += [f"--{setting}", value]
    output, memory = command.run(asked, options, deadline)
    return json.loads(output)["rows"], memory


def settings_of(options):
    """Settings that are compared: rows of a product, with each kernel of attention."""
    sizes = PRODUCT_ROWS[:2] if options.small else PRODUCT_ROWS
    if options.torch_device == "cpu":
        return [{"product-rows": rows, "attention": "tiles"} for rows in sizes]
    # Tiles take several times as long, whatever the products.
    flash = [{"product-rows": rows, "attention": "flash"} for rows in sizes]
    return [*flash, {"product-rows": 1024, "attention": "tiles"}]


def compare_settings(name, options, report, deadline, peak):
    """One row for each setting and length. Returns the settings whose bits never depended on the
    batch and that took the least time in total.
    """
    lengths = "64" if options.small else f"1024,mixed,{GROUPS}"
    times = {}
    for settings in settings_of(options):
        if deadline.is_over():
            report.problem(f"{settings}: out of time")
            break
        try:
            rows, memory = own(name, lengths, options, deadline, **settings)
        except command.Failed as error:
            report.problem(str(error))
            continue
        for row in rows:
            report.row(line(name, row, settings, peak, memory))
            if not row["invariant"] and settings["product-rows"]:
                report.problem(f"{name}, {row['length']}, {settings}: other bits alone")
        if all(row["invariant"] for row in rows) and settings["product-rows"]:
            times[tuple(settings.items())] = sum(row["seconds"] for row in rows)
    return dict(min(times, key=times.get)) if times else {}


def line(name, row, settings, peak, memory):
    """A row of the report."""
    return {
        "shape": name,
        "length": row["length"],
        "rows of a product": settings.get("product-rows", "default"),
        "attention": settings.get("attention", "default"),
        "equal bits": "yes" if row["invariant"] else "no",
        "tokens/s": f"{row['tokens_per_second']:.0f}",
        "TFLOP/s": f"{row['gflops'] / 1e3:.2f}",
        "share": f"{row['gflops'] * 1e9 / peak:.2f}",
        "GiB": f"{memory:.2f}",
    }


def peers(name, options, report):
    """Models of `transformers` by the name of their attention."""
    names = ["sdpa"]
    try:
        import flash_attn  # noqa: F401

        names.append("flash_attention_2")
    except ImportError:
        report.note("FlashAttention cannot be imported, so `transformers` was tried without")
    for attention in names:
        try:
            yield attention, peer(name, options, attention)
        except Exception as error:  # the others are compared
            report.problem(f"{name} with {attention}: {error}")


def run(options, folder, report, deadline):
    """One row for each shape, length and setting."""
    peak = ceiling(options)
    report.row({"shape": "product", "TFLOP/s": f"{peak / 1e12:.2f}"})
    names, fastest = options.shapes, {}
    if not names:
        names = ["0.1b"] if options.small else [name for name in SHAPES if name != "0.1b"]
        fastest = compare_settings(names[0], options, report, deadline, peak)
        report.note(f"fastest settings with equal bits: {fastest or 'none'}")
    for name in names:
        compare_with_peers(name, fastest, options, report, deadline, peak)


def compare_with_peers(name, settings, options, report, deadline, peak):
    """One row for each length, with the times of `transformers` relative to those of `assay`."""
    if deadline.is_over():
        report.problem(f"{name}: out of time")
        return
    lengths = "64,mixed" if options.small else f"256,1024,4096,mixed,{GROUPS}"
    try:
        rows, memory = own(name, lengths, options, deadline, **settings)
    except command.Failed as error:
        report.problem(str(error))
        return
    cells = [line(name, row, settings, peak, memory) for row in rows]
    for row, cell in zip(rows, cells):
        if not row["invariant"]:
            report.problem(f"{name}, {row['length']}: other bits alone than in a batch")
        report.row(cell)
    for attention, model in peers(name, options, report):
        if options.torch_device != "cpu":
            torch.cuda.reset_peak_memory_stats()
        for row, cell in zip(rows, cells):
            for order in (", padded", ", sorted") if row["length"] == "mixed" else (", padded",):
                if deadline.is_over():
                    report.problem(f"{name} with {attention}: out of time")
                    return
                given = sorted(row["lengths"]) if order == ", sorted" else row["lengths"]
                theirs = seconds_of_peer(model, given, options)
                cell[f"times {attention}{order}"] = f"{theirs / row['seconds']:.2f}"
                report.save()
            if options.torch_device != "cpu":
                memory = torch.cuda.max_memory_allocated() / 2**30
                cell[f"GiB {attention}"] = f"{memory:.2f}"
                report.save()
        del model
        if options.torch_device != "cpu":
            torch.cuda.empty_cache()
