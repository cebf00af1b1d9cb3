"""verl's reward loop with a reward model of the node as its `reward_router_address`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import reward_models
import tiny
import torch
from omegaconf import OmegaConf
from support import Node
from transformers import Qwen2ForSequenceClassification
from verl import DataProto
from verl.experimental.reward_loop.reward_loop import RewardLoopWorker

PROMPT, RESPONSE = 8, 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random reward model with its tokenizer."""
    return reward_models.save(tmp_path_factory.mktemp("reward-model"))


@pytest.fixture(scope="module")
def model_node(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    started = reward_models.node(tmp_path_factory.mktemp("model-node"), folder)
    yield started
    started.stop()


def worker(folder: Path, node: Node, engine: str) -> Any:
    """verl's worker, with the configuration of a discriminative reward model."""
    config = OmegaConf.create(
        {
            "actor_rollout_ref": {"model": {"path": str(folder), "tokenizer_path": None}},
            "reward": {
                "custom_reward_function": {"path": None, "name": None},
                "reward_manager": {"source": "register", "name": "naive"},
                "reward_model": {
                    "enable": True, "model_path": str(folder), "rollout": {"name": engine},
                },
                "sandbox_fusion": {"url": None, "max_concurrent": 1, "memory_limit_mb": 128},
            },
        }
    )  # fmt: skip
    address = f"{node.url.removeprefix('http://')}/compat/{engine}"
    return RewardLoopWorker(config, address)


def rollout(answer: str) -> DataProto:
    tokenizer = tiny.tokenizer()
    response = [*tokenizer(answer)["input_ids"], 1]
    padded = response + [0] * (RESPONSE - len(response))
    mask = [1] * (PROMPT + len(response)) + [0] * (RESPONSE - len(response))
    chat = numpy.empty(1, dtype=object)
    chat[0] = [{"role": "user", "content": tiny.QUESTION}]
    return DataProto.from_dict(
        tensors={"responses": torch.tensor([padded]), "attention_mask": torch.tensor([mask])},
        non_tensors={"raw_prompt": chat},
    )


def expected(folder: Path, answer: str) -> float:
    model = Qwen2ForSequenceClassification.from_pretrained(folder).eval()
    text = f"user {tiny.QUESTION} <eos> assistant {answer}  <eos> "
    ids = tiny.tokenizer()(text, return_tensors="pt")
    with torch.no_grad():
        return float(model(input_ids=ids["input_ids"]).logits[0, 0])


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_the_reward_loop_gets_raw_scores(folder: Path, model_node: Node, engine: str) -> None:
    made = worker(folder, model_node, engine)
    scores = []
    for answer in ("\\boxed{2}", "\\boxed{3}"):
        found = made.loop.run_until_complete(made.compute_score(rollout(answer)))
        assert found["reward_score"] == pytest.approx(expected(folder, answer), abs=1e-4)
        scores.append(found["reward_score"])
    assert scores[0] != scores[1]


def test_a_wrong_model_is_an_error_at_once(folder: Path, model_node: Node) -> None:
    made = worker(folder, model_node, "vllm")
    made.config.reward.reward_model.model_path = "no/model"
    with pytest.raises(Exception, match="404"):
        made.loop.run_until_complete(asyncio.wait_for(made.compute_score(rollout("2")), 10))
