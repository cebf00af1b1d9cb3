"""The cases: configurations like those of real models, but with small sizes, and their inputs.

Most configurations have the format of `transformers` 4. Those with a name ending in `-5` have the
format of version 5 and must produce the same values as the case without the suffix.
"""

from weights import stream

VOCABULARY = 320
LENGTHS = (1, 2, 7, 33, 130)
RESERVED = 20
"""Ids below this are special tokens, which do not occur in generated sequences."""


def drawn(name, length):
    """A pseudo-random sequence of ids, determined by name and length."""
    return [RESERVED + int(z) % (VOCABULARY - RESERVED) for z in stream(f"{name}/{length}", length)]


def case(name, config, reads="scalar", sequences=None, **more):
    """One case. `reads` selects the computation of the head. `more` contains further fields of the
    case.
    """
    sequences = sequences or [drawn(name.removesuffix("-5"), length) for length in LENGTHS]
    return {
        "name": name,
        "reads": reads,
        "config": config,
        "options": {},
        "sequences": sequences,
    } | more


def labels(*names):
    """The fields of a configuration that name its classes."""
    return {
        "id2label": {str(i): name for i, name in enumerate(names)},
        "label2id": {name: i for i, name in enumerate(names)},
    }


ONE = labels("LABEL_0")


def decoder(architecture, kind, **more):
    """The configuration of a small decoder."""
    return {
        "architectures": [architecture],
        "model_type": kind,
        "hidden_act": "silu",
        "hidden_size": 48,
        "intermediate_size": 80,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        "transformers_version": "4.51.3",
        "vocab_size": VOCABULARY,
    } | more


def newer(config, **more):
    """Converts a configuration to the format of version 5: rotary parameters in one object, and
    `dtype` instead of `torch_dtype`.
    """
    moved = {
        key: value
        for key, value in config.items()
        if key not in ("rope_theta", "rope_scaling", "torch_dtype")
    }
    rope = {"rope_theta": config["rope_theta"], "rope_type": "default"} | (
        config.get("rope_scaling") or {}
    )
    return (
        moved
        | {"dtype": "float32", "rope_parameters": rope, "transformers_version": "5.23.0"}
        | more
    )


def llama(architecture="LlamaForSequenceClassification", **more):
    return decoder(
        architecture,
        "llama",
        **{
            "bos_token_id": 1,
            "eos_token_id": 2,
            "attention_bias": False,
            "mlp_bias": False,
            **more,
        },
    )


def qwen2(architecture="Qwen2ForSequenceClassification", **more):
    defaults = {
        "rope_theta": 1000000.0,
        "sliding_window": 4096,
        "use_sliding_window": False,
        "max_window_layers": 2,
    }
    return decoder(architecture, "qwen2", **{**defaults, **more})


def qwen3(**more):
    defaults = {
        "rope_theta": 1000000.0,
        "head_dim": 16,
        "attention_bias": False,
        "use_sliding_window": False,
        "sliding_window": None,
    }
    return decoder("Qwen3ForSequenceClassification", "qwen3", **{**defaults, **more})


def mistral(**more):
    return decoder(
        "MistralForSequenceClassification",
        "mistral",
        **{"bos_token_id": 1, "eos_token_id": 2, **ONE, **more},
    )


LLAMA3 = {
    "factor": 8.0,
    "high_freq_factor": 4.0,
    "low_freq_factor": 1.0,
    "original_max_position_embeddings": 64,
    "rope_type": "llama3",
}
BUCKETED = llama(rope_theta=500000.0, rope_scaling=LLAMA3, max_position_embeddings=512, **ONE)
LAYERED = qwen2(
    num_hidden_layers=3, use_sliding_window=True, sliding_window=16, max_window_layers=1, **ONE
)

DECODERS = [
    case("llama", llama(**ONE)),
    case("llama-5", newer(llama(**ONE))),
    case("llama-full-heads", llama(num_key_value_heads=4, hidden_size=64, **ONE)),
    case("llama-rope-llama3", BUCKETED),
    case("llama-rope-llama3-5", newer(BUCKETED, head_dim=12)),
    case("llama-rope-theta", llama(rope_theta=250.0, **ONE)),
    case("llama-tied", llama(tie_word_embeddings=True, **ONE)),
    case("llama-biases", llama(attention_bias=True, mlp_bias=True, **ONE)),
    case("llama-head-dim", llama(head_dim=8, num_key_value_heads=1, rms_norm_eps=1e-3, **ONE)),
    case("llama-two-classes", llama(), "classes"),
    case("qwen2", qwen2(**ONE)),
    case("qwen2-window", LAYERED),
    case(
        "qwen2-window-5",
        newer(LAYERED, layer_types=["full_attention", "sliding_attention", "sliding_attention"]),
    ),
    case("qwen2-window-unused", qwen2(sliding_window=8, max_window_layers=0, **ONE)),
    case(
        "qwen2-layer-types",
        newer(
            qwen2(num_hidden_layers=3, use_sliding_window=True, sliding_window=16, **ONE),
            layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        ),
    ),
    case("qwen2-three-classes", qwen2(**labels("bad", "fair", "good")), "classes"),
    case("qwen3", qwen3(**ONE)),
    case("qwen3-5", newer(qwen3(**ONE), layer_types=["full_attention", "full_attention"])),
    case("qwen3-biases", qwen3(attention_bias=True, tie_word_embeddings=True, **ONE)),
    case("mistral", mistral(sliding_window=None)),
    case("mistral-window", mistral(sliding_window=32)),
    case("mistral-window-5", newer(mistral(sliding_window=32), head_dim=12)),
]

PADDED = drawn("pooled", 9)
EOS = 2
ENDINGS = [
    PADDED,
    PADDED + [EOS],
    PADDED + [EOS, EOS],
    PADDED[:4] + [EOS] + PADDED[4:],
    PADDED[:4] + [EOS] + PADDED[4:] + [EOS],
    [EOS] + PADDED,
    [EOS, EOS],
    [EOS],
]
PADS = qwen2(pad_token_id=EOS, eos_token_id=EOS, **ONE)
POOLED = [
    case("pooled-last", PADS, sequences=ENDINGS, options={"pooling": "last"}),
    case("pooled-hf-nonpad", PADS, sequences=ENDINGS, options={"pooling": "hf_nonpad"}),
    case("pooled-first-pad", PADS, sequences=ENDINGS, options={"pooling": "first_pad"}),
]

STEP = 10
STEPPED = [
    drawn("steps", 5) + [STEP],
    drawn("steps", 40) + [STEP] + drawn("steps", 3) + [STEP] + drawn("steps", 21) + [STEP],
    [STEP, STEP] + drawn("steps", 8),
]
STEPS = {
    "options": {"step_token": "<extra_0>"},
    "tokens": {"<extra_0>": STEP},
    "sequences": STEPPED,
}
LABELS = {
    "options": {"labels": ["A", "B", "C"], "positive": ["A"]},
    "tokens": {"A": 31, "B": 32, "C": 150},
}
V_HEAD = {"tensors": {"score.weight": "v_head.summary.weight", "score.bias": "v_head.summary.bias"}}
VALUE_HEAD = {"tensors": {"score.weight": "value_head.weight"}}
REGRESSION = {"tensors": {"score.weight": "regression_head.weight"}}

HEADS = [
    case("mlp", qwen2("Qwen2ForRewardModel"), "mlp", outputs=1),
    case("mlp-steps", qwen2("Qwen2ForProcessRewardModel"), "mlp", outputs=2, **STEPS),
    case("steps", qwen2("Qwen2ForTokenClassification"), "tokens", **STEPS),
    case("labels", qwen2("Qwen2ForCausalLM"), "labels", **LABELS),
    case("labels-tied", qwen2("Qwen2ForCausalLM", tie_word_embeddings=True), "labels", **LABELS),
    case("head-v-head", llama("LlamaForCausalLM"), "linear", bias=True, options=V_HEAD),
    case(
        "head-value-head",
        llama("RewardModel", value_head_prefix="value_head"),
        "linear",
        options=VALUE_HEAD,
    ),
    case("head-regression", llama("LlamaRewardModel"), "linear", options=REGRESSION),
    case(
        "openrlhf",
        llama("RewardModel", value_head_prefix="score", normalize_reward=True, mean=0.25, std=1.75),
        "linear",
    ),
]


def bert(architecture, **more):
    return {
        "architectures": [architecture],
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": 48,
        "intermediate_size": 80,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": 160,
        "pad_token_id": 0,
        "position_embedding_type": "absolute",
        "torch_dtype": "float32",
        "transformers_version": "4.51.3",
        "type_vocab_size": 2,
        "vocab_size": VOCABULARY,
    } | more


def modernbert(architecture="ModernBertForSequenceClassification", **more):
    return {
        "architectures": [architecture],
        "model_type": "modernbert",
        "attention_bias": False,
        "bos_token_id": 1,
        "classifier_activation": "gelu",
        "classifier_bias": False,
        "classifier_pooling": "cls",
        "cls_token_id": 1,
        "eos_token_id": 2,
        "global_attn_every_n_layers": 3,
        "global_rope_theta": 160000.0,
        "hidden_activation": "gelu",
        "hidden_size": 48,
        "intermediate_size": 64,
        "layer_norm_eps": 1e-5,
        "local_attention": 16,
        "local_rope_theta": 10000.0,
        "max_position_embeddings": 512,
        "mlp_bias": False,
        "norm_bias": False,
        "norm_eps": 1e-5,
        "num_attention_heads": 4,
        "num_hidden_layers": 4,
        "pad_token_id": 0,
        "sep_token_id": 2,
        "torch_dtype": "float32",
        "transformers_version": "4.51.3",
        "vocab_size": VOCABULARY,
    } | more


def modernbert_newer(config):
    """Converts a configuration to the format of version 5, with a type and rotary parameters for
    each layer type.
    """
    left = (
        "global_attn_every_n_layers",
        "global_rope_theta",
        "local_rope_theta",
        "layer_norm_eps",
        "torch_dtype",
    )
    return {key: value for key, value in config.items() if key not in left} | {
        "dtype": "float32",
        "layer_types": [
            "full_attention",
            "sliding_attention",
            "sliding_attention",
            "full_attention",
        ],
        "rope_parameters": {
            "full_attention": {"rope_theta": config["global_rope_theta"], "rope_type": "default"},
            "sliding_attention": {"rope_theta": config["local_rope_theta"], "rope_type": "default"},
        },
        "transformers_version": "5.23.0",
    }


PAIR = [
    [3, *drawn("pair", 4), 4, *drawn("pair", 3), 4],
    [3, *drawn("pair", 60), 4, *drawn("pair", 30), 4],
]
SECONDS = {"sequences": PAIR, "second": [6, 62]}
MEAN = {"pooling": "mean"}

ENCODERS = [
    case("bert-embedding", bert("BertModel"), "embedding", options=MEAN),
    case("bert", bert("BertForSequenceClassification", **ONE), "encoder"),
    case(
        "bert-two-classes",
        bert("BertForSequenceClassification", layer_norm_eps=1e-3),
        "encoder-classes",
    ),
    case("bert-pair", bert("BertForSequenceClassification", **ONE), "encoder", **SECONDS),
    case("modernbert", modernbert(**ONE), "encoder"),
    case("modernbert-5", modernbert_newer(modernbert(**ONE)), "encoder"),
    case(
        "modernbert-mean",
        modernbert(classifier_pooling="mean", **labels("bad", "fair", "good")),
        "encoder-classes",
    ),
    case(
        "modernbert-biases",
        modernbert(
            attention_bias=True,
            mlp_bias=True,
            norm_bias=True,
            classifier_bias=True,
            norm_eps=1e-3,
            **ONE,
        ),
        "encoder",
    ),
    case("modernbert-embedding", modernbert("ModernBertModel"), "embedding", options=MEAN),
]

CASES = DECODERS + POOLED + HEADS + ENCODERS
