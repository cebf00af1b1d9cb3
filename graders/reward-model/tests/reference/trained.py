"""Trains small tokenizers of the types that reward models use, and writes their directories."""

import json
import pathlib
from collections import Counter

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from texts import CORPUS

HERE = pathlib.Path(__file__).parent
SIZE = 600
QWEN2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = QWEN2.replace(r"|\p{N}|", r"|\p{N}{1,3}|")


def byte_level(split, **more):
    """Trains a byte-level BPE on the corpus."""
    tokenizer = Tokenizer(models.BPE(**more))
    parts = [pre_tokenizers.Split(Regex(split), "isolated")] if split else []
    byte = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not split)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*parts, byte]) if parts else byte
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS.splitlines(keepends=True), trainer)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def specials(tokenizer, *texts):
    """Adds special tokens after the vocabulary."""
    tokenizer.add_special_tokens(
        [AddedToken(text, special=True, normalized=False) for text in texts]
    )


def around(tokenizer, single, pair):
    """A post-processor that adds special tokens to one text or a pair."""
    names = {
        piece.split(":")[0] for piece in f"{single} {pair}".split() if not piece.startswith("$")
    }
    ids = [(name, tokenizer.token_to_id(name)) for name in sorted(names)]
    return processors.TemplateProcessing(single=single, pair=pair, special_tokens=ids)


def qwen2():
    tokenizer = byte_level(QWEN2)
    tokenizer.normalizer = normalizers.NFC()
    specials(tokenizer, "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<extra_0>")
    plain = ("<think>", "</think>", "<tool_call>", "</tool_call>")
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in plain])
    tokenizer.post_processor = processors.ByteLevel(
        add_prefix_space=False, trim_offsets=False, use_regex=False
    )
    return tokenizer, {
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "chat_template": template("chatml"),
    }


def llama3():
    tokenizer = byte_level(LLAMA3, ignore_merges=True)
    specials(
        tokenizer,
        "<|begin_of_text|>",
        "<|end_of_text|>",
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|eot_id|>",
    )
    bos = "<|begin_of_text|>"
    ends = around(tokenizer, f"{bos}:0 $A:0", f"{bos}:0 $A:0 {bos}:1 $B:1")
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), ends])
    return tokenizer, {
        "bos_token": bos,
        "eos_token": "<|eot_id|>",
        "chat_template.jinja": template("headers"),
    }


def mistral():
    """Pieces like those of SentencePiece: marked spaces, no split into words, unknown characters as
    bytes.
    """
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Metaspace(split=True)
    trainer = trainers.BpeTrainer(vocab_size=420, show_progress=False)
    trained.train_from_iterator(CORPUS.splitlines(), trainer)
    learned = json.loads(trained.to_str())["model"]
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    pieces += sorted(learned["vocab"], key=learned["vocab"].get)
    merges = [tuple(pair) for pair in learned["merges"]]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    tokenizer = Tokenizer(
        models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    words = (
        decoders.Replace("▁", " "),
        decoders.ByteFallback(),
        decoders.Fuse(),
        decoders.Strip(" ", 1, 0),
    )
    tokenizer.decoder = decoders.Sequence(list(words))
    specials(tokenizer, "<unk>", "<s>", "</s>", "[INST]", "[/INST]")
    tokenizer.post_processor = around(tokenizer, "<s>:0 $A:0", "<s>:0 $A:0 <s>:1 $B:1")
    other = "{{ raise_exception('not this one') }}"
    named = [
        {"name": "default", "template": template("instruct")},
        {"name": "tool_use", "template": other},
    ]
    bos = {
        "__type": "AddedToken",
        "content": "<s>",
        "lstrip": False,
        "normalized": False,
        "rstrip": False,
        "single_word": False,
    }
    return tokenizer, {
        "bos_token": bos,
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "add_bos_token": True,
        "chat_template": named,
    }


def bert():
    """WordPiece with letters, word endings and words of the corpus. The pieces are selected here
    because the library's trainer breaks ties at random.
    """
    tokenizer = Tokenizer(models.WordPiece())
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words = [
        word
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(
            tokenizer.normalizer.normalize_str(CORPUS)
        )
    ]
    letters = sorted(set("".join(words)))
    ends = Counter(word[-n:] for word in words for n in (2, 3, 4) if len(word) > n + 1)
    often = [
        word
        for word, count in sorted(Counter(words).items(), key=lambda each: (-each[1], each[0]))
        if len(word) > 1
    ]
    ending = [end for end, _ in sorted(ends.items(), key=lambda each: (-each[1], each[0]))]
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [
        *names,
        *letters,
        *(f"##{letter}" for letter in letters),
        *(f"##{end}" for end in ending[:100]),
        *often[:120],
    ]
    tokenizer.model = models.WordPiece(
        {piece: i for i, piece in enumerate(pieces)},
        unk_token="[UNK]",
        max_input_chars_per_word=100,
    )
    specials(tokenizer, *names)
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = around(
        tokenizer, "[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1"
    )
    return tokenizer, {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }


def modernbert():
    tokenizer = byte_level(None)
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.add_tokens([AddedToken(" " * n, special=False, normalized=True) for n in (4, 3, 2)])
    specials(tokenizer, "[UNK]", "[CLS]", "[SEP]", "[PAD]")
    tokenizer.add_special_tokens(
        [AddedToken("[MASK]", special=True, normalized=False, lstrip=True)]
    )
    tokenizer.post_processor = around(
        tokenizer, "[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1"
    )
    return tokenizer, {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }


def template(name):
    return (HERE / "templates" / f"{name}.jinja").read_text()


KINDS = {
    "qwen2": qwen2,
    "llama3": llama3,
    "mistral": mistral,
    "bert": bert,
    "modernbert": modernbert,
}


def write_all():
    """Writes the directories of all tokenizers and returns their paths by name."""
    for name, kind in KINDS.items():
        tokenizer, config = kind()
        directory = HERE / "tokenizers" / name
        directory.mkdir(parents=True, exist_ok=True)
        tokenizer.save(str(directory / "tokenizer.json"), pretty=False)
        if (beside := config.pop("chat_template.jinja", None)) is not None:
            (directory / "chat_template.jinja").write_text(beside)
        config |= {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": 512,
            "clean_up_tokenization_spaces": False,
        }
        (directory / "tokenizer_config.json").write_text(
            json.dumps(config, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        )
    return {name: HERE / "tokenizers" / name for name in KINDS}
