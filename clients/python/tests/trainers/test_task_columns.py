"""TRL's trainer and verl's reward loop with nested task columns of every grader, prompts and
conversations: the rewards are those of `assay grade`, and a run without any reward says why in its
first step."""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import datasets
import pytest
import reward_models
import torch
from omegaconf import OmegaConf
from support import Node
from task_rows import ROWS, TaskRow
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, set_seed
from trl import GRPOConfig, GRPOTrainer
from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, AgentLoopWorker
from verl.experimental.agent_loop.tool_agent_loop import ToolAgentLoop
from verl.trainer.ppo.reward import load_reward_manager

import assay
from assay import _binary
from assay.trl import Reward
from assay.verl_manager import MaskedToolAgentLoop, keep_mask

UNGRADABLE = TaskRow({"type": "math", "answer": ""}, "\\boxed{4}", "\\boxed{5}")
# Rows of a column. One row of `math` has no reward.
CASES: dict[str, list[TaskRow]] = {
    **{grader: list(rows) for grader, rows in ROWS.items()},
    "math": [*ROWS["math"], UNGRADABLE],
    "reward_model": [
        TaskRow({"type": "reward_model", "threshold": 0.5}, "\\boxed{2}", "\\boxed{3}"),
        TaskRow({"type": "reward_model", "normalise": "sigmoid"}, "\\boxed{2} 2", "3"),
    ],
}
# A token of the tiny vocabularies is a whole text. This separates two of them.
SEPARATOR = "\u241e"
CHAT = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


@pytest.fixture(scope="module")
def model_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    model = reward_models.save(tmp_path_factory.mktemp("reward-model"))
    started = reward_models.node(tmp_path_factory.mktemp("model-node"), model)
    yield started
    started.stop()


def by_command(node: Node, items: Sequence[dict[str, Any]], folder: Path) -> list[float | None]:
    """The rewards of `assay grade`, for tasks that never were in a table."""
    path = folder / "items.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    command = [
        _binary.find(), "grade", str(path), "--fields", "reward", "--config",
        str(node.folder / "assay.toml"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, env=_binary.environment())
    return [json.loads(line)["reward"] for line in done.stdout.splitlines()]


def column(rows: list[TaskRow], prompts: list[Any], folder: Path) -> datasets.Dataset:
    """A dataset with a nested column of tasks, written and read as Parquet."""
    made = datasets.Dataset.from_list(
        [{"prompt": prompt, "task": row.task} for prompt, row in zip(prompts, rows)]
    )
    made.to_parquet(folder / "rows.parquet")
    read: datasets.Dataset = datasets.Dataset.from_parquet(
        str(folder / "rows.parquet"), cache_dir=str(folder / "cache")
    )
    return read


def prompts_of(rows: list[TaskRow], is_conversation: bool) -> list[Any]:
    texts = [f"question {number} ?" for number in range(len(rows))]
    if not is_conversation:
        return texts
    return [
        [{"role": "system", "content": "answer "}, {"role": "user", "content": text}]
        for text in texts
    ]


def vocabulary(texts: Sequence[str]) -> PreTrainedTokenizerFast:
    """A tokenizer in which each of these texts is one token."""
    words = {text: number for number, text in enumerate(dict.fromkeys(["<pad>", "<eos>", *texts]))}
    made = Tokenizer(WordLevel(words, unk_token="<pad>"))
    made.pre_tokenizer = Split(SEPARATOR, "removed")
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", chat_template=CHAT
    )


# -- TRL


def train(
    folder: Path, reward: Reward, rows: list[TaskRow], is_conversation: bool
) -> list[tuple[Any, Any, float | None]]:
    """The prompts, completions and rewards of a step, which generates for each row its right and
    its wrong completion."""
    prompts = prompts_of(rows, is_conversation)
    rendered = [
        "".join(message["content"] for message in prompt) if is_conversation else prompt
        for prompt in prompts
    ]
    answers = [text for row in rows for text in (row.right, row.wrong)]
    tokenizer = vocabulary([*rendered, *answers])
    set_seed(1)
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32, num_hidden_layers=1,
            num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=64,
            pad_token_id=0, eos_token_id=1, bos_token_id=None,
        )
    )  # fmt: skip

    def generate(input_ids: torch.Tensor, **options: Any) -> torch.Tensor:
        made = []
        for position, ids in enumerate(input_ids.tolist()):
            number = rendered.index(tokenizer.decode(ids, skip_special_tokens=True))
            text = answers[2 * number + position % 2]
            made.append([*ids, tokenizer.convert_tokens_to_ids(text), 1])
        return torch.tensor(made)

    model.generate = generate
    seen: list[tuple[Any, Any, float | None]] = []

    def recorded(**columns: Any) -> Any:
        rewards = reward(**columns)
        seen.extend(zip(columns["prompts"], columns["completions"], rewards))
        return rewards

    size = 2 * len(rows)
    GRPOTrainer(
        model=model,
        reward_funcs=recorded,
        args=GRPOConfig(
            output_dir=str(folder), per_device_train_batch_size=size, num_generations=2,
            max_completion_length=2, max_steps=1, use_cpu=True, bf16=False, report_to=[],
            save_strategy="no", logging_steps=1,
        ),
        train_dataset=column(rows, prompts, folder),
        processing_class=tokenizer,
    ).train()  # fmt: skip
    assert len(seen) == size
    return seen


@pytest.mark.parametrize("is_conversation", [False, True])
@pytest.mark.parametrize("grader", CASES)
def test_rewards_of_trl_are_those_of_the_command(
    model_node: Node, tmp_path: Path, grader: str, is_conversation: bool
) -> None:
    rows = CASES[grader]
    prompts = prompts_of(rows, is_conversation)
    reward = Reward(model_node.url, max_completion_length=2)
    seen = train(tmp_path, reward, rows, is_conversation)
    items = [
        {"prompt": prompt, "completion": completion, "task": rows[prompts.index(prompt)].task}
        for prompt, completion, _ in seen
    ]
    rewards = [value for _, _, value in seen]
    assert rewards == by_command(model_node, items, tmp_path)
    assert sum(value is None for value in rewards) == (2 if grader == "math" else 0)
    if grader != "reward_model":
        assert sorted(value for value in rewards if value is not None) == sorted(
            [0.0, 1.0] * sum(row is not UNGRADABLE for row in rows)
        )


def test_a_run_of_trl_without_any_reward_says_why(
    node: Node, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seen = train(tmp_path, Reward(node.url), [UNGRADABLE] * 2, False)
    assert [value for _, _, value in seen] == [None] * 4
    (message,) = [one.getMessage() for one in caplog.records if one.name == "assay"]
    assert message.startswith("none of the first 4 completions has a reward")
    assert "ungradable, `gold_unparsable`: " in message


# -- verl


def manager(folder: Path, node: Node, tokenizer: Any, name: str, missing: str = "mask") -> Any:
    """The reward manager of a configuration: that of the adapter, or one of verl."""
    file = folder / "rewards.py"
    file.write_text(
        "import assay.verl\n"
        f"compute_score = assay.verl.compute_score({node.url!r}, missing={missing!r})\n"
    )
    ours = {
        "source": "importlib",
        "name": "RewardManager",
        "module": {"path": "pkg://assay.verl_manager"},
    }
    config = OmegaConf.create(
        {
            "data": {"max_response_length": 8},
            "reward": {
                "custom_reward_function": {"path": str(file), "name": "compute_score"},
                "reward_manager": ours if name == "assay" else {"source": "register", "name": name},
            },
        }
    )
    return load_reward_manager(config, tokenizer)


class Handle:
    """The handle of a worker of the reward loop, which runs in this process."""

    def __init__(self, manager: Any) -> None:
        self.compute_score = SimpleNamespace(remote=manager.run_single)


def scored(made: Any, output: AgentLoopOutput, row: dict[str, Any]) -> AgentLoopOutput:
    """The output of an agent loop after verl's worker has scored it."""
    worker = object.__new__(AgentLoopWorker)
    worker.processor, worker.mm_processor_kwargs = None, None
    worker.reward_loop_worker_handles = [Handle(made)]
    asyncio.set_event_loop(made.loop)
    made.loop.run_until_complete(worker._compute_score([output], row))
    return output


def output_of(tokenizer: Any, prompt: str, parts: Sequence[tuple[str, bool]]) -> AgentLoopOutput:
    """A rollout with these texts, of which the model wrote those that are marked."""
    responses = [tokenizer(text)["input_ids"] for text, _ in parts]
    return AgentLoopOutput(
        prompt_ids=tokenizer(prompt)["input_ids"],
        response_ids=[token for ids in responses for token in ids],
        response_mask=[int(own) for ids, (_, own) in zip(responses, parts) for _ in ids],
        num_turns=1 + len(parts),
        metrics={},
    )


def row_of(prompt: Any, task: Any) -> dict[str, Any]:
    """A row as verl's dataset gives it to an agent loop."""
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    return {
        "data_source": "rows", "reward_model": {"ground_truth": None},
        "extra_info": {"task": task}, "raw_prompt": messages,
    }  # fmt: skip


@pytest.mark.parametrize("is_conversation", [False, True])
@pytest.mark.parametrize("grader", CASES)
def test_rewards_of_verl_are_those_of_the_command(
    model_node: Node, tmp_path: Path, grader: str, is_conversation: bool
) -> None:
    rows = CASES[grader]
    prompts = prompts_of(rows, is_conversation)
    texts = [text for row in rows for text in (row.right, row.wrong)]
    tokenizer = vocabulary(["question", *texts])
    made = manager(tmp_path, model_node, tokenizer, "assay")
    rewards, items = [], []
    for row, read in zip(rows, column(rows, prompts, tmp_path)):
        for text in (row.right, row.wrong):
            given = row_of(read["prompt"], read["task"])
            output = scored(made, output_of(tokenizer, "question", [(text, True)]), given)
            rewards.append(output.reward_score)
            items.append({"prompt": given["raw_prompt"], "completion": text, "task": row.task})
    found = [None if math.isnan(value) else value for value in rewards]
    assert found == by_command(model_node, items, tmp_path)
    assert sum(value is None for value in found) == (2 if grader == "math" else 0)
    assert grader == "reward_model" or {0.0, 1.0} <= set(found)


def test_a_run_of_verl_without_any_reward_says_why(
    node: Node, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tokenizer = vocabulary(["question", UNGRADABLE.right])
    made = manager(tmp_path, node, tokenizer, "assay", "raise")
    for _ in range(8):
        output = output_of(tokenizer, "question", [(UNGRADABLE.right, True)])
        with pytest.raises(assay.NotGradedError, match="gold_unparsable"):
            scored(made, output, row_of("1+1?", UNGRADABLE.task))
    messages = [one.getMessage() for one in caplog.records if one.name == "assay"]
    assert "ungradable, `gold_unparsable`: " in messages[0]
    assert messages[-1].startswith("none of the first 8 completions has a reward")


RIGHT, WRONG, OUTPUT = "\\boxed{4}", "\\boxed{5}", "the tool says \\boxed{4}"
TASK = {"type": "math", "answer": "4"}


@pytest.mark.parametrize(
    ("parts", "reward"),
    [
        ([(WRONG, True), (OUTPUT, False)], 0.0),
        ([(WRONG, True), (OUTPUT, False), (WRONG, True)], 0.0),
        ([(WRONG, True), (OUTPUT, False), (RIGHT, True)], 1.0),
    ],
)
def test_the_output_of_tools_is_not_the_answer(
    node: Node, tmp_path: Path, run: str, parts: Any, reward: float
) -> None:
    tokenizer = vocabulary(["question", RIGHT, WRONG, OUTPUT])
    row = row_of("2+2?", TASK)

    def rollout() -> AgentLoopOutput:
        return output_of(tokenizer, "question", parts)

    made = manager(tmp_path, node, tokenizer, "assay")
    assert scored(made, keep_mask(rollout()), row).reward_score == reward
    # Without the mask, neither manager grades it.
    with pytest.raises(ValueError, match="no response mask.*`assay_tool_agent`"):
        scored(made, rollout(), row)
    with pytest.raises(ValueError, match="the manager of `assay.verl_manager`"):
        scored(manager(tmp_path, node, tokenizer, "naive"), rollout(), row)


def test_the_agent_loop_keeps_the_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = vocabulary(["question", RIGHT, OUTPUT])

    async def run(self: Any, sampling_params: Any, **kwargs: Any) -> AgentLoopOutput:
        return output_of(tokenizer, "question", [(RIGHT, True), (OUTPUT, False)])

    monkeypatch.setattr(ToolAgentLoop, "run", run)
    loop = object.__new__(MaskedToolAgentLoop)
    output = asyncio.run(loop.run({}))
    assert output.extra_fields["assay_response_mask"] == [1, 0]


def test_facts_about_a_rollout_are_sent(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[dict[str, Any]] = []
    make: Callable[..., list[dict[str, Any]]] = assay.Rollouts._items

    def recorded(*arguments: Any) -> list[dict[str, Any]]:
        sent.extend(made := make(*arguments))
        return made

    monkeypatch.setattr(assay.Rollouts, "_items", recorded)
    tokenizer = vocabulary(["2+2?<think>", RIGHT])
    made = manager(tmp_path, node, tokenizer, "assay")
    parts = [(RIGHT, True)] * 8
    scored(made, output_of(tokenizer, "2+2?<think>", parts[:1]), row_of("2+2?", TASK))
    scored(made, keep_mask(output_of(tokenizer, "2+2?<think>", parts)), row_of("2+2?", TASK))
    assert [item["meta"] for item in sent] == [
        {"tokens": 1, "truncated": False, "think_open": True},
        {"tokens": 8, "truncated": True, "think_open": True},
    ]
    assert sent[0]["prompt"] == [{"role": "user", "content": "2+2?"}]
