#!/usr/bin/env python3
"""Compare scores of reward models with those of `transformers` and `sentence-transformers`,
computed beside them.

usage: reward_models.py PATH/TO/assay [--only NAME]

Four parts: every case of graders/reward-model/tests/reference, its weights written to a directory
and its ids given as they are; whole conversations through the templates and tokenizers of the same
folder; pairs of texts through an encoder; and sentences through a sentence encoder of the size of
MiniLM, with weights by rule like the others. Fails where a number is further off than its part
allows, where one side refuses what the other reads, or where the committed cases are not what
`transformers` gives today.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

REFERENCE = pathlib.Path(__file__).parents[2] / "graders/reward-model/tests/reference"
sys.path.insert(0, str(REFERENCE))
os.environ["HF_HUB_OFFLINE"] = "1"

import torch  # noqa: E402
import transformers  # noqa: E402
from cases import CASES, ONE, llama, modernbert  # noqa: E402
from compute import expected, rows, shapes  # noqa: E402
from conversations import CONVERSATIONS  # noqa: E402
from sentence_encoder import sentence_encoder  # noqa: E402
from sentences import SENTENCES  # noqa: E402
from sentence_transformers import SentenceTransformer  # noqa: E402
from texts import PAIRS, STRINGS  # noqa: E402
from tokens import freeze  # noqa: E402
from weights import write  # noqa: E402
from written_cases import distance, inputs, largest_distance, write_model  # noqa: E402

SCORES, EMBEDDINGS = 1e-4, 1e-5
WIDER = 768
"""Size of the vocabulary of models with a tokenizer of the reference folder."""


def asked(binary, directory, inputs):
    """The results of `assay` for inputs."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.write("".join(json.dumps(one) + "\n" for one in inputs))
        file.flush()
        done = subprocess.run(
            [binary, "models", "score", file.name, "--model", directory, "--json"],
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
    if (
        done.returncode not in (0, 1)
        or (found := [json.loads(line) for line in done.stdout.splitlines()]) == []
    ):
        sys.exit(f"assay models score ended with {done.returncode}: {done.stderr}")
    assert len(found) == len(inputs), (len(found), len(inputs), done.stderr)
    return found


def compare_case(binary, case):
    """The largest difference over a case's sequences."""
    with tempfile.TemporaryDirectory() as directory:
        write_model(case, directory)
        found = asked(binary, directory, inputs(case))
    return largest_distance(case, expected(case), found)


def compare_cases(binary, only):
    committed = {
        case["name"]: case for case in json.loads((REFERENCE / "cases.json").read_text())["cases"]
    }
    for case in CASES:
        if only in case["name"]:
            case = case | {"tensors": shapes(case), "rows": rows(case)}
            kept = committed[case["name"]]["expected"]
            drift = max(
                distance(now[kind], then[kind])
                for now, then in zip(expected(case), kept)
                for kind in now
            )
            report(f"committed {case['name']}", drift, 1e-5)
            report(case["name"], compare_case(binary, case), SCORES)


def behind(name, config, directory):
    """Writes a model with a tokenizer of the reference folder; returns the case and both as
    `transformers` loads them.
    """
    case = {
        "config": config | {"vocab_size": WIDER},
        "sequences": [],
        "options": {},
        "reads": "scalar",
    }
    case["tensors"] = shapes(case)
    shutil.copytree(REFERENCE / "tokenizers" / name, directory, dirs_exist_ok=True)
    write(case, directory)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        directory, dtype=torch.float32
    )
    return model.eval(), transformers.AutoTokenizer.from_pretrained(directory)


def scored(model, **ids):
    """The number for a sequence of ids."""
    with torch.no_grad():
        return float(model(**{key: torch.tensor([value]) for key, value in ids.items()}).logits)


def templated(model, tokenizer, messages):
    """The number for a conversation, or `None` if its template rejects it."""
    try:
        ids = tokenizer.apply_chat_template(messages, return_dict=False)
    except Exception:  # whatever Jinja or the template raises
        return None
    return scored(model, input_ids=ids)


def compare_texts(binary, name):
    """Compares conversations that end with an assistant's message, and plain texts, on a
    decoder.
    """
    # Members of objects are read in alphabetical order, and a text that contains its token of
    # beginning gets no second one: both are documented, and not compared.
    spoken = {
        key: json.loads(json.dumps(value, sort_keys=True)) for key, value in CONVERSATIONS.items()
    }
    spoken = {key: value for key, value in spoken.items() if value[-1]["role"] == "assistant"}
    texts = [text for text in STRINGS if text and not text.startswith(("<s>", "<|begin_of_text|>"))]
    with tempfile.TemporaryDirectory() as directory:
        model, tokenizer = behind(name, llama(max_position_embeddings=8192, **ONE), directory)
        inputs = [
            {"prompt": messages[:-1], "completion": [messages[-1]]} for messages in spoken.values()
        ]
        found = asked(binary, directory, inputs + [{"text": text} for text in texts])
        theirs = [templated(model, tokenizer, messages) for messages in spoken.values()]
        theirs += [scored(model, input_ids=tokenizer(text)["input_ids"]) for text in texts]
    compare_each(name, [*spoken, *map(repr, texts)], theirs, found)


def compare_pairs(binary, name):
    """Compares pairs on an encoder."""
    pairs = [pair for pair in PAIRS if all(pair)]
    with tempfile.TemporaryDirectory() as directory:
        model, tokenizer = behind(name, modernbert(**ONE), directory)
        found = asked(
            binary, directory, [{"text": first, "pair": second} for first, second in pairs]
        )
        theirs = [scored(model, input_ids=tokenizer(*pair)["input_ids"]) for pair in pairs]
    compare_each(f"{name} pairs", map(repr, pairs), theirs, found)


def compare_each(part, names, theirs, found):
    worst = 0.0
    for name, number, ours in zip(names, theirs, found):
        off = (
            distance(number, ours.get("raw"))
            if number is not None
            else (0.0 if ours.get("error") else float("inf"))
        )
        if off > SCORES:
            print(f"{part}, {name[:60]}: {number} against {ours}")
        worst = max(worst, off)
    report(part, worst, SCORES)


def compare_sentences(binary):
    """Compares embeddings of sentences."""
    with tempfile.TemporaryDirectory() as directory:
        sentence_encoder(directory)
        theirs = SentenceTransformer(directory, device="cpu").encode(
            SENTENCES, batch_size=16, show_progress_bar=False
        )
        found = asked(binary, directory, [{"text": text} for text in SENTENCES])
    worst = max(
        distance([float(x) for x in one], ours.get("embedding")) for one, ours in zip(theirs, found)
    )
    report(f"MiniLM-sized encoder, {len(SENTENCES)} sentences", worst, EMBEDDINGS)


FAILED = []


def report(what, worst, bound):
    print(
        f"{what:<40} {worst:.1e}{'' if worst <= bound else f'   more than {bound:.0e}'}", flush=True
    )
    if not worst <= bound:
        FAILED.append(what)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--only", default="", help="compare only parts whose name holds this")
    given = parser.parse_args()
    torch.set_grad_enabled(False)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    compare_cases(given.binary, given.only)
    freeze()
    for name in ("qwen2", "llama3", "mistral"):
        if given.only in name:
            compare_texts(given.binary, name)
    if given.only in "modernbert pairs":
        compare_pairs(given.binary, "modernbert")
    if given.only in "MiniLM-sized encoder, sentences":
        compare_sentences(given.binary)
    if FAILED:
        sys.exit(f"{len(FAILED)} differ: {', '.join(FAILED)}")


if __name__ == "__main__":
    main()
