"""A tiny random model whose words are answers, so that its completions get different rewards."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, set_seed
from trl.chat_template_utils import qwen3_chat_template

ANSWERS = [f"\\boxed{{{number}}}" for number in range(1, 5)]
QUESTION = "what is 1 plus 1 ?"
WORDS = ["<pad>", "<eos>", "<unk>", *QUESTION.split(), "2", "3", *ANSWERS]


def model(seed: int = 1, positions: int = 64) -> Qwen2ForCausalLM:
    set_seed(seed)
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(dict.fromkeys(WORDS)),
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            max_position_embeddings=positions,
            pad_token_id=0,
            eos_token_id=1,
            bos_token_id=None,
        )
    )


def tokenizer() -> PreTrainedTokenizerFast:
    words = {word: number for number, word in enumerate(dict.fromkeys(WORDS))}
    made = Tokenizer(WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )


def save(folder: Path) -> str:
    """A folder with the model and its tokenizer."""
    model().save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return str(folder)


def save_with_tools(folder: Path) -> str:
    """A folder with a model whose chat template supports tools."""
    model(positions=4096).save_pretrained(folder)
    made = tokenizer()
    made.chat_template = qwen3_chat_template
    made.save_pretrained(folder)
    return str(folder)
