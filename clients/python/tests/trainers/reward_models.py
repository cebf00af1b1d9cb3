"""A node with a tiny random reward model."""

from __future__ import annotations

from pathlib import Path

import tiny
from support import Node
from transformers import Qwen2Config, Qwen2ForSequenceClassification, set_seed

TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }} {{ message['content'] }} <eos> {% endfor %}"
)


def save(folder: Path) -> Path:
    """A folder with the model and its tokenizer."""
    set_seed(1)
    model = Qwen2ForSequenceClassification(
        Qwen2Config(
            vocab_size=len(dict.fromkeys(tiny.WORDS)), hidden_size=16, intermediate_size=32,
            num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
            max_position_embeddings=64, num_labels=1, pad_token_id=0, eos_token_id=1,
        )
    )  # fmt: skip
    model.save_pretrained(folder)
    tokenizer = tiny.tokenizer()
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    return folder


def node(folder: Path, model: Path) -> Node:
    """A node that loads the model. It reads `assay.toml` in its folder."""
    made = Node(folder)
    (folder / "assay.toml").write_text(f"[reward_models.load.tiny]\nsource = '{model}'\n")
    return made.start()
