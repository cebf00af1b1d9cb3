"""verl's reward managers and advantages with rewards of the service, of which some are missing."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import numpy
import pytest
import tiny
import torch
from omegaconf import OmegaConf
from support import Node
from verl import DataProto
from verl.trainer.ppo.core_algos import get_adv_estimator_fn
from verl.trainer.ppo.ray_trainer import compute_advantage
from verl.trainer.ppo.reward import load_reward_manager
from verl.utils.reward_score.sandbox_fusion.utils import call_sandbox_api, check_correctness

import assay
import assay.verl_estimators  # noqa: F401, registers the estimator

PROMPT, RESPONSE = 8, 4
GOLD = {"type": "math", "answer": "2"}
UNGRADABLE = {"type": "math", "answer": ""}


def manager(folder: Path, node: Node, name: str = "naive", missing: str = "raise") -> Any:
    """The reward manager of a configuration that names a file with the function."""
    file = folder / "rewards.py"
    file.write_text(
        "import assay.verl\n"
        f"compute_score = assay.verl.compute_score({node.url!r}, missing={missing!r})\n"
    )
    config = OmegaConf.create(
        {
            "reward": {
                "custom_reward_function": {"path": str(file), "name": "compute_score"},
                "reward_manager": {"source": "register", "name": name},
                "max_concurrent": 4,
            }
        }
    )
    return load_reward_manager(config, tiny.tokenizer())


def rollout(task: Any, answer: str) -> DataProto:
    """A rollout as the agent loop passes it to the reward loop."""
    tokenizer = tiny.tokenizer()
    response = tokenizer(answer)["input_ids"]
    padded = response + [0] * (RESPONSE - len(response))
    mask = [1] * PROMPT + [1] * len(response) + [0] * (RESPONSE - len(response))
    return DataProto.from_dict(
        tensors={
            "prompts": torch.zeros(1, PROMPT, dtype=torch.int64),
            "responses": torch.tensor([padded]),
            "attention_mask": torch.tensor([mask]),
        },
        non_tensors={
            "data_source": numpy.array(["tiny"], dtype=object),
            "reward_model": numpy.array([{"ground_truth": "2"}], dtype=object),
            "extra_info": numpy.array([{"task": task}], dtype=object),
        },
    )


def run(manager: Any, call: Awaitable[Any]) -> Any:
    asyncio.set_event_loop(manager.loop)
    return manager.loop.run_until_complete(call)


def test_the_reward_manager_calls_the_service(node: Node, tmp_path: Path) -> None:
    made = manager(tmp_path, node)
    for answer, reward in (("\\boxed{2}", 1.0), ("\\boxed{3}", 0.0)):
        found = run(made, made.run_single(rollout(GOLD, answer)))
        assert found["reward_score"] == reward
        assert found["reward_extra_info"] == {"score": reward, "acc": reward, "graded": 1.0}


def test_the_manager_gets_an_error_and_not_a_reward_of_0(node: Node, tmp_path: Path) -> None:
    made = manager(tmp_path, node)
    with pytest.raises(assay.NotGradedError, match="gold_unparsable"):
        run(made, made.run_single(rollout(UNGRADABLE, "\\boxed{2}")))


def test_the_manager_rate_limited_turns_errors_into_0(node: Node, tmp_path: Path) -> None:
    made = manager(tmp_path, node, name="rate_limited")
    found = run(made, made.run_single(rollout(UNGRADABLE, "\\boxed{2}")))
    assert found["reward_score"] == 0.0 and "gold_unparsable" in found["reward_extra_info"]["error"]
    # NaN passes through it.
    made = manager(tmp_path, node, name="rate_limited", missing="mask")
    found = run(made, made.run_single(rollout(UNGRADABLE, "\\boxed{2}")))
    assert math.isnan(found["reward_score"])


def graded_batch(node: Node, tmp_path: Path) -> DataProto:
    """Two groups of four rollouts, with rewards 1, 0, none, 0 and 1, none, none, none."""
    made = manager(tmp_path, node, missing="mask")
    plan = [(GOLD, 2), (GOLD, 3), (UNGRADABLE, 2), (GOLD, 1)]
    plan += [(GOLD, 2), (UNGRADABLE, 2), (UNGRADABLE, 2), (UNGRADABLE, 2)]
    items = [rollout(task, f"\\boxed{{{answer}}}") for task, answer in plan]
    results = [run(made, made.run_single(item)) for item in items]
    data = DataProto.concat(items)
    data.batch["token_level_rewards"] = made.assemble_rm_scores(
        data, [found["reward_score"] for found in results]
    )
    data.batch["response_mask"] = data.batch["attention_mask"][:, PROMPT:]
    data.non_tensor_batch["uid"] = numpy.array(["a"] * 4 + ["b"] * 4, dtype=object)
    return data


def advantages(data: DataProto, estimator: str) -> list[float]:
    config = OmegaConf.create({"norm_adv_by_std_in_grpo": True})
    found = compute_advantage(data, adv_estimator=estimator, config=config).batch["advantages"]
    mask = data.batch["response_mask"].bool()
    assert (found[~mask] == 0).all() or torch.isnan(found[~mask]).any()
    return [float(row[0]) for row in found]


def test_the_estimator_leaves_out_what_is_not_graded(node: Node, tmp_path: Path) -> None:
    found = advantages(graded_batch(node, tmp_path), "assay_grpo")
    three = torch.tensor([1.0, 0.0, 0.0])
    right, wrong = ((three - three.mean()) / (three.std() + 1e-6))[:2].tolist()
    assert found == pytest.approx([right, wrong, 0.0, wrong, 0.0, 0.0, 0.0, 0.0], abs=1e-4)


def test_without_the_estimator_nan_is_visible(node: Node, tmp_path: Path) -> None:
    found = advantages(graded_batch(node, tmp_path), "grpo")
    assert all(math.isnan(one) for one in found[:4])


def test_the_estimator_equals_grpo_if_all_are_graded() -> None:
    rewards = torch.zeros(8, RESPONSE)
    rewards[:, -1] = torch.tensor([1.0, 0.0, 0.0, 0.25, 1.0, 1.0, 0.5, 0.0])
    mask, index = torch.ones(8, RESPONSE), numpy.array(["a"] * 4 + ["b"] * 4, dtype=object)
    for by_deviation in (True, False):
        config = OmegaConf.create({"norm_adv_by_std_in_grpo": by_deviation})
        ours, _ = get_adv_estimator_fn("assay_grpo")(rewards, mask, index, config=config)
        theirs, _ = get_adv_estimator_fn("grpo")(
            rewards, mask, index, norm_adv_by_std_in_grpo=by_deviation
        )
        assert torch.allclose(ours, theirs, atol=1e-5)


def test_the_sandbox_client_runs_programs(node: Node) -> None:
    url = f"{node.url}/compat/sandboxfusion/run_code"
    reply, error = call_sandbox_api(url, "print(int(input()) * 2)", "21\n", 10, 10, 128, "python")
    assert error is None
    assert reply["status"] == "Success" and reply["run_result"]["stdout"] == "42\n"
    tests = {"inputs": ["1\n", "2\n"], "outputs": ["2\n", "5\n"]}
    passed, _ = check_correctness(url, tests, "print(int(input()) * 2)", timeout=10)
    assert passed == [True, False]


def test_the_sandbox_client_runs_pytest_and_sees_errors(node: Node) -> None:
    url = f"{node.url}/compat/sandboxfusion/run_code"
    program = "def test_one():\n    assert 1 + 1 == 2\n"
    reply, _ = call_sandbox_api(url, program, "", 10, 10, 256, "pytest")
    assert reply["status"] == "Success", reply
    reply, _ = call_sandbox_api(url, program.replace("2\n", "3\n"), "", 10, 10, 256, "pytest")
    assert reply["status"] == "Failed", reply
    reply, _ = call_sandbox_api(url, "say 1;", "", 10, 10, 256, "perl")
    assert reply["status"] == "SandboxError" and "`perl` is not available" in reply["message"]
