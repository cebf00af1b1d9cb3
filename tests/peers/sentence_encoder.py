"""Writes a sentence encoder of the size of MiniLM (BERT with six layers of 384) in the layout of
`sentence-transformers`.

Nothing in it is trained. `weights.py` of the reference folder computes the weights from the names
and shapes of the tensors. The vocabulary consists of characters and of combinations of two and
three letters, and the rest of the tokenizer is that of `bert` in the reference folder.
"""

import itertools
import json
import pathlib
import shutil
import string
import sys

REFERENCE = pathlib.Path(__file__).parents[2] / "graders/reward-model/tests/reference"
sys.path.insert(0, str(REFERENCE))

from cases import bert  # noqa: E402
from compute import shapes  # noqa: E402
from weights import write  # noqa: E402

CONFIG = bert(
    "BertModel",
    hidden_size=384,
    intermediate_size=1536,
    num_hidden_layers=6,
    num_attention_heads=12,
    max_position_embeddings=512,
    vocab_size=30522,
)
BLOCKS = ((0x21, 0x7E), (0x430, 0x45F), (0x621, 0x64A), (0x3041, 0x3096))
"""First and last characters of ASCII, Cyrillic, Arabic and Hiragana in the vocabulary. Others, such
as ideographs and emoji, are unknown.
"""
MODULES = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
"""Kinds of modules and their folders."""


def words():
    """Characters in lower case, then all combinations of two and of three letters."""
    for first, last in BLOCKS:
        yield from (char for code in range(first, last + 1) if (char := chr(code)).lower() == char)
    for count in (2, 3):
        yield from map("".join, itertools.product(string.ascii_lowercase, repeat=count))


def pieces():
    """Each word as the start of a word and, except for punctuation, as a continuation."""
    for word in words():
        yield word
        if word.isalnum():
            yield f"##{word}"


def vocabulary(special):
    """The ids of the special tokens and of as many pieces as fit behind them."""
    kept = itertools.islice(itertools.chain(special, pieces()), CONFIG["vocab_size"])
    return {piece: i for i, piece in enumerate(kept)}


def write_json(path, value):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def write_tokenizer(folder):
    """Writes the tokenizer `bert` of the reference folder with the vocabulary replaced."""
    source = REFERENCE / "tokenizers/bert"
    shutil.copy(source / "tokenizer_config.json", folder)
    tokenizer = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    # The special tokens keep their ids, which the post-processor contains.
    special = [token["content"] for token in tokenizer["added_tokens"]]
    tokenizer["model"]["vocab"] = vocabulary(special)
    write_json(folder / "tokenizer.json", tokenizer)


def write_modules(folder):
    """Declares the mean over all tokens, scaled to length 1."""
    write_json(
        folder / "modules.json",
        [
            {
                "idx": i,
                "name": str(i),
                "path": path,
                "type": f"sentence_transformers.models.{kind}",
            }
            for i, (kind, path) in enumerate(MODULES.items())
        ],
    )
    write_json(
        folder / MODULES["Pooling"] / "config.json",
        {
            "word_embedding_dimension": CONFIG["hidden_size"],
            "pooling_mode_cls_token": False,
            "pooling_mode_mean_tokens": True,
        },
    )
    write_json(
        folder / "sentence_bert_config.json",
        {"max_seq_length": CONFIG["max_position_embeddings"], "do_lower_case": False},
    )


def sentence_encoder(directory):
    """Writes the encoder to a directory, and returns the directory."""
    folder = pathlib.Path(directory)
    case = {"config": CONFIG, "reads": "embedding"}
    write(case | {"tensors": shapes(case)}, folder)
    write_tokenizer(folder)
    write_modules(folder)
    return directory
