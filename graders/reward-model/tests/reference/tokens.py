"""Computes the token ids of texts and conversations with `transformers`, for each small
tokenizer.
"""

import datetime
import json

import numpy
import tokenizers
import transformers
from tokenizers import Tokenizer
from transformers.utils import chat_template_utils

from conversations import CONVERSATIONS
from texts import PAIRS, STRINGS
from trained import write_all

LONGEST = 300
"""Longer lists of ids are represented by their count and FNV-1a-64 (see make.py)."""

TODAY = datetime.datetime(2024, 7, 26)
"""The date that templates see."""


class Frozen(datetime.datetime):
    """A clock that always returns the same time."""

    @classmethod
    def now(cls, tz=None):
        return TODAY


def freeze():
    """Makes templates see a fixed date."""
    chat_template_utils.datetime = Frozen


def short(ids):
    """The ids, or count and hash of a long list."""
    if len(ids) <= LONGEST:
        return ids
    value = 0xCBF29CE484222325
    for byte in numpy.array(ids, dtype="<u4").tobytes():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return {"count": len(ids), "fnv": f"{value:016x}"}


def rendered(tokenizer, messages):
    """Text and ids of a conversation, or the error of the template."""
    try:
        text = tokenizer.apply_chat_template(messages, tokenize=False)
        plain, opened = (
            tokenizer.apply_chat_template(messages, add_generation_prompt=opens, return_dict=False)
            for opens in (False, True)
        )
    except Exception as problem:  # any exception of Jinja or the template
        return {"error": str(problem)}
    return {"text": text, "ids": short(plain), "opened": short(opened)}


def reference_values(name, directory):
    """All reference values of one tokenizer."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    file = Tokenizer.from_file(str(directory / "tokenizer.json"))
    texts = [tokenizer(text)["input_ids"] for text in STRINGS]
    assert texts == [file.encode(text).ids for text in STRINGS], (
        f"{name} is loaded differently from its file"
    )
    pairs = [tokenizer(*pair, return_token_type_ids=True) for pair in PAIRS]
    found = {
        "texts": [short(ids) for ids in texts],
        "bare": [short(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in STRINGS],
        "pairs": [{"ids": pair["input_ids"], "types": pair["token_type_ids"]} for pair in pairs],
    }
    if found["bare"] == found["texts"]:
        del found["bare"]
    if tokenizer.chat_template:
        found["conversations"] = {
            key: rendered(tokenizer, messages) for key, messages in CONVERSATIONS.items()
        }
        found["sorted"] = {
            key: value["ids"]
            for key, messages in CONVERSATIONS.items()
            if "ids" in (value := rendered(tokenizer, with_sorted_keys(messages)))
            and value != found["conversations"][key]
        }
    return found


def with_sorted_keys(messages):
    """The messages with the keys of every object in alphabetical order."""
    return json.loads(json.dumps(messages, sort_keys=True))


def write_tokens(path):
    """Writes the tokenizers and their reference values."""
    freeze()
    directories = write_all()
    made_by = {"tokenizers": tokenizers.__version__, "transformers": transformers.__version__}
    parts = {
        "made_by": made_by,
        "today": TODAY.date().isoformat(),
        "strings": STRINGS,
        "pairs": PAIRS,
        "conversations": CONVERSATIONS,
    }
    parts["tokenizers"] = {
        name: reference_values(name, directory) for name, directory in directories.items()
    }
    lines = [
        f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}"
        for key, value in parts.items()
        if key != "tokenizers"
    ]
    each = [
        f"{json.dumps(name)}: {json.dumps(value, separators=(',', ':'))}"
        for name, value in parts["tokenizers"].items()
    ]
    lines.append('"tokenizers": {\n' + ",\n".join(each) + "\n}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
