"""Computes cases with `transformers` with "eager" attention, each sequence alone and without
padding. The default is f32 on a CPU.

Backbones and heads that `transformers` implements are loaded from a directory with the weights of
the case, so that names, tied weights and defaults are interpreted by `transformers`. Other heads
are implemented here.
"""

import tempfile

import torch
import transformers

from weights import tensor, write

torch.manual_seed(0)
torch.set_grad_enabled(False)

DEVICE, DTYPE = "cpu", torch.float32


def ids_of(sequence):
    """A sequence as a batch of one."""
    return torch.tensor([sequence], device=DEVICE)


def loaded(kind, directory, **more):
    """Loads a model and returns it with the names of unused tensors. A missing tensor is an
    error.
    """
    model, about = getattr(transformers, kind).from_pretrained(
        directory,
        dtype=DTYPE,
        attn_implementation="eager",
        output_loading_info=True,
        **more,
    )
    missing = [key for key in about["missing_keys"] if not key.startswith("pooler.")]
    assert not missing and not about["mismatched_keys"], about
    return model.to(DEVICE).eval(), set(about["unexpected_keys"])


def hidden_states(case, directory):
    """The hidden states of each sequence, for heads implemented here."""
    model, unused = loaded("AutoModel", directory)
    assert unused <= set(head_shapes(case)) | {"lm_head.weight"}, unused
    return [model(ids_of(ids)).last_hidden_state[0] for ids in case["sequences"]]


def head_shapes(case):
    """Names and shapes of the tensors of a head implemented here."""
    hidden, reads = case["config"]["hidden_size"], case["reads"]
    if reads == "mlp":
        n = case["outputs"]
        return {
            "score.0.weight": [hidden, hidden],
            "score.0.bias": [hidden],
            "score.2.weight": [n, hidden],
            "score.2.bias": [n],
        }
    if reads == "linear":
        name = head_name(case)
        return {f"{name}.weight": [1, hidden]} | ({f"{name}.bias": [1]} if case.get("bias") else {})
    return {}


def head_name(case):
    """The name of a linear head, from the options or from the configuration as OpenRLHF writes
    it.
    """
    named = case["options"].get("tensors", {}).get("score.weight")
    return named.removesuffix(".weight") if named else case["config"]["value_head_prefix"]


def shapes(case):
    """Names and shapes of the stored tensors of a case. A tied head is not stored."""
    config = case["config"]
    with tempfile.TemporaryDirectory() as directory:
        write(case | {"tensors": {}}, directory)
        read = transformers.AutoConfig.from_pretrained(directory)
    kind = config["architectures"][0]
    model = (
        getattr(transformers, kind)(read)
        if hasattr(transformers, kind)
        else transformers.AutoModel.from_config(read)
    )
    prefix = "" if hasattr(transformers, kind) else "model."
    tied = getattr(model, "all_tied_weights_keys", None) or {}
    found = {
        prefix + name: list(value.shape)
        for name, value in model.state_dict().items()
        if name not in tied
    }
    return found | head_shapes(case)


def rows(case):
    """The rows that the head reads of each sequence, or `mean`."""
    pooling = case["options"].get("pooling") or case["config"].get("classifier_pooling")
    if case["config"]["model_type"] == "bert" and case["reads"] != "embedding":
        pooling = "cls"
    return [row(case, pooling, ids) for ids in case["sequences"]]


def row(case, pooling, ids):
    pad = case["config"].get("pad_token_id")
    if "step_token" in case["options"]:
        step = case["tokens"][case["options"]["step_token"]]
        return [at for at, token in enumerate(ids) if token == step]
    if pooling == "mean":
        return "mean"
    if pooling == "cls":
        return [0]
    if pooling == "hf_nonpad":  # the last token that is not padding, or the first
        return [max((at for at, token in enumerate(ids) if token != pad), default=0)]
    if pooling == "first_pad":  # the token before the first padding; index -1 wraps
        return [((ids.index(pad) if pad in ids else 0) - 1) % len(ids)]
    return [len(ids) - 1]


def classified(case, directory):
    """Logits of a decoder with a head of `transformers`, at the rows of the case."""
    model, unused = loaded("AutoModelForSequenceClassification", directory)
    assert not unused, unused
    given = [ids_of(ids) for ids in case["sequences"]]
    chosen = [
        model.score(model.model(ids).last_hidden_state[0, at[0]])
        for ids, at in zip(given, rows(case))
    ]
    if case["options"].get("pooling") == "first_pad":  # the rule of `transformers` before 4.49
        return chosen
    if case["options"].get("pooling") == "last":
        model.config.pad_token_id = None
    outputs = [model(ids).logits[0] for ids in given]
    bound = 1e-5 if DTYPE == torch.float32 else 1e-1
    assert all(torch.allclose(one, other, atol=bound) for one, other in zip(outputs, chosen)), case[
        "name"
    ]
    return outputs


def encoded(case, directory):
    """Logits of an encoder with a head of `transformers`."""
    model, unused = loaded("AutoModelForSequenceClassification", directory)
    assert not unused, unused
    seconds = case.get("second") or [len(ids) for ids in case["sequences"]]
    types = [
        [int(at >= second) for at in range(len(ids))]
        for ids, second in zip(case["sequences"], seconds)
    ]
    typed = case["config"].get("type_vocab_size")
    given = [{"token_type_ids": ids_of(one)} if typed else {} for one in types]
    return [
        model(ids_of(ids), **more).logits[0] for ids, more in zip(case["sequences"], given)
    ]


def linear(case, states, name, with_bias):
    """Applies a linear layer with the weights of the case."""

    def stored(part):
        return torch.from_numpy(tensor(part, case["tensors"][part])).to(states)

    bias = stored(f"{name}.bias") if with_bias else None
    return torch.nn.functional.linear(states, stored(f"{name}.weight"), bias)


def headed(case, directory):
    """The outputs of a head implemented here, at the rows of the case."""
    picked = [states[at] for states, at in zip(hidden_states(case, directory), rows(case))]
    if case["reads"] == "linear":
        return [linear(case, states, head_name(case), case.get("bias", False)) for states in picked]
    return [
        linear(case, linear(case, states, "score.0", True).relu(), "score.2", True)
        for states in picked
    ]


def expected(case, device="cpu", dtype=torch.float32):
    """The expected outputs of each sequence."""
    global DEVICE, DTYPE
    DEVICE, DTYPE = device, dtype
    with tempfile.TemporaryDirectory() as directory:
        write(case, directory)
        return [rounded(one) for one in READS[case["reads"]](case, directory)]


def scalar(outputs):
    return [{"scalar": out.reshape(())} for out in outputs]


def classes(outputs):
    return [{"classes": out.reshape(-1)} for out in outputs]


def good_steps(outputs):
    return [{"steps": out.softmax(-1)[:, 1]} for out in outputs]


def mlp(case, directory):
    outputs = headed(case, directory)
    return scalar(outputs) if case["outputs"] == 1 else good_steps(outputs)


def single(case, directory):
    found = scalar(headed(case, directory))
    config = case["config"]
    if config.get("normalize_reward"):
        for one in found:
            one["normalised"] = (one["scalar"] - config["mean"]) / config["std"]
    return found


def tokens(case, directory):
    model, unused = loaded("AutoModelForTokenClassification", directory)
    assert not unused, unused
    return good_steps(
        [model(ids_of(ids)).logits[0][at] for ids, at in zip(case["sequences"], rows(case))]
    )


def answers(case, directory):
    model, unused = loaded("AutoModelForCausalLM", directory)
    assert not unused, unused
    ids = [case["tokens"][label] for label in case["options"]["labels"]]
    return [
        {"labels": model(ids_of(one)).logits[0, -1, ids].softmax(-1)}
        for one in case["sequences"]
    ]


def embedding(case, directory):
    return [
        {"embedding": torch.nn.functional.normalize(states.mean(0), dim=-1)}
        for states in hidden_states(case, directory)
    ]


READS = {
    "scalar": lambda case, directory: scalar(classified(case, directory)),
    "classes": lambda case, directory: classes(classified(case, directory)),
    "encoder": lambda case, directory: scalar(encoded(case, directory)),
    "encoder-classes": lambda case, directory: classes(encoded(case, directory)),
    "mlp": mlp,
    "linear": single,
    "tokens": tokens,
    "labels": answers,
    "embedding": embedding,
}


def rounded(one):
    """Rounds outputs to the fewest digits that represent the same f32."""
    return {key: digits(value.float().cpu().numpy()) for key, value in one.items()}


def digits(values):
    return float(str(values)) if values.ndim == 0 else [float(str(x)) for x in values]
