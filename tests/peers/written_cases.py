"""The cases of graders/reward-model/tests/reference as directories of models, their inputs, and the
distance of results from expected outputs. The folder must be on the path of modules.
"""

import json
import pathlib

from cases import VOCABULARY
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from weights import write


def numbers(value, names=()):
    """An output as a list: a number, a list, or an object by the names of its labels."""
    if isinstance(value, dict):
        return [value[name] for name in names or value]
    return value if isinstance(value, list) else [value]


def distance(theirs, ours, names=()):
    """The largest difference between two outputs; infinite if one is missing or has another
    length.
    """
    if (
        ours is None
        or len(theirs := numbers(theirs)) != len(ours := numbers(ours, names))
        or None in ours
    ):
        return float("inf")
    return max((abs(one - other) for one, other in zip(theirs, ours)), default=0.0)


def words(case):
    """A tokenizer for which token i is the word `ti`, unless the case names it, and two texts are
    framed as the case's pairs are.
    """
    named = {i: text for text, i in case.get("tokens", {}).items()}
    tokenizer = Tokenizer(
        models.WordLevel({named.get(i, f"t{i}"): i for i in range(VOCABULARY)}, unk_token="t0")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if "second" in case:
        frame = {
            "single": "t3 $A t4",
            "pair": "t3 $A t4 $B:1 t4:1",
            "special_tokens": [("t3", 3), ("t4", 4)],
        }
        tokenizer.post_processor = processors.TemplateProcessing(**frame)
    # Step tokens and labels are not ordinary words.
    tokenizer.add_special_tokens(list(named.values()))
    return tokenizer


def pair_texts(ids, second):
    """The two texts that the tokenizer `words` encodes as these ids."""
    first, then = (
        " ".join(f"t{i}" for i in part) for part in (ids[1 : second - 1], ids[second:-1])
    )
    return {"text": first, "pair": then}


def write_model(case, directory):
    """Writes a case as a directory that `assay` loads."""
    write(case, directory)
    folder = pathlib.Path(directory)
    (folder / "assay.json").write_text(json.dumps(case["options"]))
    if case["reads"] == "embedding":
        # The reference normalises embeddings to length 1 in a separate module.
        (folder / "modules.json").write_text(
            json.dumps([{"type": "sentence_transformers.models.Normalize"}])
        )
    words(case).save(f"{directory}/tokenizer.json")


def inputs(case):
    """The inputs of a case: pairs of texts, or ids."""
    pairs = zip(case["sequences"], case.get("second", ()))
    return [pair_texts(*one) for one in pairs] or [{"ids": ids} for ids in case["sequences"]]


def largest_distance(case, wanted, results):
    """The largest difference between the outputs of a case and results of `assay`."""
    names = list(case["config"].get("id2label", {}).values()) or case["options"].get("labels", ())
    worst = 0.0
    for theirs, ours, ids in zip(wanted, results, case["sequences"]):
        kind, value = next(iter(theirs.items()))
        worst = max(worst, distance(value, ours.get("raw" if kind == "scalar" else kind), names))
        assert ours.get("tokens") in (None, len(ids)), (case["name"], ours)
    return worst
