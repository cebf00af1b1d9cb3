"""The adapters for trainers, called as the trainers call them, without the trainers."""

from __future__ import annotations

import asyncio
import json
import math
import os
import pickle
import signal
import sys
from collections.abc import Awaitable
from types import SimpleNamespace
from typing import Any

import pytest
from support import Node, free_port

import assay
from assay import areal, atropos, openrlhf, slime, trl, verl

GOLD = {"type": "math", "answer": "4"}
# The server cannot read the answer, so no completion of this task has a reward.
UNGRADABLE = {"type": "math", "answer": ""}
RIGHT, WRONG = "\\boxed{4}", "\\boxed{5}"


OPEN: list[assay.AsyncClient] = []


class Recorded(assay.AsyncClient):
    """A client that `finish` closes."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        OPEN.append(self)


@pytest.fixture(autouse=True)
def record_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    OPEN.clear()
    monkeypatch.setattr("assay.rollouts.AsyncClient", Recorded)


def finish(call: Awaitable[Any]) -> Any:
    """What a call returns; closes the connections of its loop, which trainers leave open."""

    async def run() -> Any:
        try:
            return await call
        finally:
            for client in OPEN:
                await client.close()

    return asyncio.run(run())


def unreachable() -> str:
    return f"http://127.0.0.1:{free_port()}"


# -- tasks


def test_the_task_of_a_row_is_a_column_a_function_or_a_template(node: Node) -> None:
    for task, row in [
        (None, {"task": GOLD}),
        ("gold", {"gold": json.dumps(GOLD)}),
        (lambda row: {"type": "math", "answer": row["answer"]}, {"answer": "4"}),
        (None, {"task": {**GOLD, "tolerance": None}}),
    ]:
        rollouts = assay.Rollouts(node.url, task=task)
        assert rollouts.grade([row, row], [RIGHT, WRONG]).rewards() == [1.0, 0.0], task


def test_the_server_makes_tasks_with_a_template(node: Node) -> None:
    rollouts = assay.Rollouts(node.url, template="gsm8k")
    rows = [{"question": "2+2?", "answer": "2+2=4\n#### 4"}] * 2
    assert rollouts.grade(rows, [RIGHT, WRONG]).rewards() == [1.0, 0.0]
    score = verl.compute_score(node.url, template="verl-math")
    assert called_by_verl(score, None, RIGHT)["score"] == 1.0
    label = json.dumps({"answer": "#### 4"})
    function = openrlhf.reward_func(node.url, template="gsm8k")
    assert function([f"2+2?{WRONG}"], ["2+2?"], [label])["rewards"] == 0.0
    # A label that is not an object is in the column that the template reads.
    rows_of = {"label": "answer"}
    found = openrlhf.reward_func(node.url, template="gsm8k", **rows_of)
    assert found([f"2+2?{RIGHT}"], ["2+2?"], ["#### 4"])["rewards"] == 1.0
    one = SimpleNamespace(prompt="2+2?", response=RIGHT, label="#### 4", metadata={})
    rewarded = slime.reward(node.url, template="gsm8k", **rows_of)
    assert finish(rewarded(SimpleNamespace(), one)) == 1.0
    with pytest.raises(assay.RequestRejectedError, match="answer"):
        openrlhf.reward_func(node.url, template="gsm8k")([RIGHT], [""], ["#### 4"])
    with pytest.raises(assay.RequestRejectedError, match="gsm9k"):
        assay.Rollouts(node.url, template="gsm9k").grade(rows, [RIGHT, WRONG])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"answer": "4"}, "no column `task` with the task; the columns are `answer`"),
        ({"task": "{"}, "the column `task` is not JSON"),
        ({"task": 4}, "the column `task` is a int"),
    ],
)
def test_names_the_column_without_a_task(row: dict[str, Any], message: str) -> None:
    with pytest.raises((KeyError, ValueError, TypeError), match=message):
        assay.Rollouts(unreachable()).grade([row], [RIGHT])


def test_rejects_arguments_that_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="exclude each other"):
        assay.Rollouts(task="task", template="gsm8k")
    with pytest.raises(TypeError, match="unknown argument `tasks`"):
        assay.Rollouts(tasks="task")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match='"mask", "drop_group", "raise"'):
        trl.Reward(missing="zero")


def test_functions_without_a_name_are_pickled_by_value(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = assay.Rollouts(node.url, task=lambda row: {"type": "math", "answer": row["answer"]})
    # `cloudpickle` is installed with trainers, and not here.
    fake = SimpleNamespace(dumps=lambda function: pickle.dumps(of_answer))
    monkeypatch.setitem(sys.modules, "cloudpickle", fake)
    assert pickle.loads(pickle.dumps(made)).reward({"answer": "4"}, RIGHT) == 1.0
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(pickle.PicklingError, match="`task` cannot be pickled.*`cloudpickle`"):
        pickle.dumps(made)
    named = assay.Rollouts(node.url, task=of_answer)
    assert pickle.loads(pickle.dumps(named)).reward({"answer": "4"}, RIGHT) == 1.0


def of_answer(row: Any) -> dict[str, Any]:
    return {"type": "math", "answer": row["answer"]}


def test_can_be_pickled_after_use(node: Node) -> None:
    rollouts = assay.Rollouts(node.url, task="gold")
    assert rollouts.reward({"gold": GOLD}, RIGHT) == 1.0
    copied = pickle.loads(pickle.dumps(rollouts))
    assert copied.reward({"gold": GOLD}, WRONG) == 0.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_works_after_a_fork_while_another_thread_connects(node: Node) -> None:
    rollouts = assay.Rollouts(node.url)
    with rollouts._lock:
        child = os.fork()
        if child == 0:
            # A child that waits for the lock is killed by the alarm.
            signal.alarm(30)
            os._exit(0 if rollouts.reward({"task": GOLD}, RIGHT) == 1.0 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_gives_up_on_a_server_after_its_time() -> None:
    reward = trl.Reward(unreachable(), server_timeout=0.3, missing="raise")
    with pytest.raises(assay.ServerUnavailableError):
        called_by_trl(reward, [GOLD] * 4, [RIGHT] * 4)


def test_sends_the_key_and_headers(node: Node) -> None:
    with pytest.raises(ValueError, match="line break"):
        assay.Rollouts(node.url, key="a\nb").reward({"task": GOLD}, RIGHT)
    rollouts = assay.Rollouts(node.url, key="secret", headers={"x-team": "a"})
    assert rollouts.reward({"task": GOLD}, RIGHT) == 1.0


# -- TRL


def called_by_trl(reward: trl.Reward, tasks: list[Any], completions: list[Any]) -> Any:
    logged: dict[str, Any] = {}
    rewards = reward(
        prompts=["p", "p", "q", "q"],
        completions=completions,
        completion_ids=[[1]] * 4,
        task=tasks,
        trainer_state=SimpleNamespace(global_step=3),
        log_extra=logged.__setitem__,
        log_metric=logged.__setitem__,
        environments=None,
    )
    return rewards, logged


def test_trl_gets_none_for_a_completion_without_a_reward(node: Node, run: str) -> None:
    tasks, completions = [GOLD, UNGRADABLE, GOLD, GOLD], [RIGHT, RIGHT, RIGHT, WRONG]
    reward = trl.Reward(node.url, run=run, name="assay")
    rewards, logged = called_by_trl(reward, tasks, completions)
    assert rewards == [1.0, None, 1.0, 0.0]
    assert logged[f"{reward.__name__}/without_reward"] == 0.25
    assert logged["verdict"][0] == "correct" and logged["verdict"][1] is None
    recorded = node.grades(run)
    assert {grade["step"] for grade in recorded} == {3}
    assert len({grade["group"] for grade in recorded}) == 2


def test_trl_can_drop_the_group_or_stop(node: Node) -> None:
    tasks, completions = [GOLD, UNGRADABLE, GOLD, GOLD], [RIGHT, RIGHT, RIGHT, WRONG]
    dropped = trl.Reward(node.url, missing="drop_group")
    assert called_by_trl(dropped, tasks, completions)[0] == [None, None, 1.0, 0.0]
    with pytest.raises(assay.NotGradedError, match=r"items\[1\]: ungradable"):
        called_by_trl(trl.Reward(node.url, missing="raise"), tasks, completions)


def test_trl_completions_can_be_messages(node: Node) -> None:
    completions = [[{"role": "assistant", "content": text}] for text in (RIGHT, WRONG) * 2]
    assert called_by_trl(trl.Reward(node.url), [GOLD] * 4, completions)[0] == [1.0, 0.0] * 2


def test_trl_gates_other_functions(node: Node) -> None:
    reward = trl.Reward(node.url)

    def length(completions: Any, **columns: Any) -> list[float]:
        return [float(len(text)) for text in completions]

    gated = reward.gate(length)
    completions = [RIGHT, RIGHT, RIGHT, WRONG]
    with pytest.raises(RuntimeError, match="before the functions that it gates"):
        gated(completions=completions)
    called_by_trl(reward, [GOLD, UNGRADABLE, GOLD, GOLD], completions)
    assert gated(completions=completions) == [9.0, None, 9.0, 9.0]
    assert gated.__name__ == "length"


def test_trl_gates_asynchronous_functions(node: Node) -> None:
    async def length(completions: Any, **columns: Any) -> list[float]:
        return [float(len(text)) for text in completions]

    class Judge:
        async def __call__(self, completions: Any, **columns: Any) -> list[float]:
            return await length(completions)

    completions = [RIGHT, RIGHT, RIGHT, WRONG]
    for other, name in ((length, "length"), (Judge(), "Judge")):
        reward = trl.Reward(node.url)
        gated = reward.gate(other)
        # TRL awaits what is defined as asynchronous.
        assert asyncio.iscoroutinefunction(gated) and gated.__name__ == name
        called_by_trl(reward, [GOLD, UNGRADABLE, GOLD, GOLD], completions)
        found: Any = gated(completions=completions)
        assert asyncio.run(found) == [9.0, None, 9.0, 9.0]

    hidden = reward.gate(lambda **columns: length(**columns))
    with pytest.raises(TypeError, match="define it, or its `__call__`, with `async def`"):
        hidden(completions=completions)


def test_trl_metrics_of_two_functions_are_separate(node: Node) -> None:
    first, second = trl.Reward(node.url), trl.Reward(node.url)
    names = [first.__name__, second.__name__]
    assert len(set(names)) == 2 and all(name.startswith("assay") for name in names)
    named = trl.Reward(node.url, name="proofs")
    logged = called_by_trl(named, [GOLD, UNGRADABLE, GOLD, GOLD], [RIGHT] * 4)[1]
    assert set(logged) == {"proofs/without_reward", "proofs_verdict", "proofs_error"}


def test_trl_stops_if_the_server_is_down() -> None:
    reward = trl.Reward(unreachable(), deadline=1)
    with pytest.raises(assay.AssayError):
        called_by_trl(reward, [GOLD] * 4, [RIGHT] * 4)


@pytest.mark.parametrize(("installed", "works"), [("1.5.1", False), ("1.6.0", True)])
def test_trl_rejects_versions_that_count_none_as_0(
    installed: str, works: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trl, "version", lambda name: installed)
    trl.Reward(missing="raise")
    if works:
        trl.Reward()
    else:
        with pytest.raises(RuntimeError, match="install trl>=1.6"):
            trl.Reward()


# -- verl


def called_by_verl(score: Any, task: Any, solution: str) -> dict[str, float]:
    extra = {"task": task, "num_turns": 1, "rollout_reward_scores": {}}
    found: dict[str, float] = finish(
        score(data_source="d", solution_str=solution, ground_truth="4", extra_info=extra)
    )
    return found


def test_verl_gets_an_error_or_nan(node: Node) -> None:
    score = verl.compute_score(node.url)
    assert called_by_verl(score, GOLD, RIGHT) == {"score": 1.0, "acc": 1.0, "graded": 1.0}
    assert called_by_verl(score, GOLD, WRONG) == {"score": 0.0, "acc": 0.0, "graded": 1.0}
    with pytest.raises(assay.NotGradedError):
        called_by_verl(score, UNGRADABLE, RIGHT)
    masked = called_by_verl(verl.compute_score(node.url, missing="mask"), UNGRADABLE, RIGHT)
    assert math.isnan(masked["score"]) and masked["graded"] == 0.0
    assert list(masked) == ["score", "acc", "graded"]


def test_verl_rows_have_the_keys_of_its_datasets(node: Node) -> None:
    rows: list[Any] = []

    def task(row: Any) -> dict[str, Any]:
        rows.append(row)
        return {"type": "math", "answer": row["reward_model"]["ground_truth"]}

    called_by_verl(verl.compute_score(node.url, task=task), GOLD, RIGHT)
    assert rows[0]["data_source"] == "d" and rows[0]["extra_info"] == {"task": GOLD}


# -- OpenRLHF


def test_openrlhf_labels_are_tasks_or_columns(node: Node) -> None:
    function = openrlhf.reward_func(node.url)
    for completion, reward in ((RIGHT, 1.0), (WRONG, 0.0)):
        found = function([f"2+2?{completion}"], ["2+2?"], [json.dumps(GOLD)])
        assert found == {"rewards": reward, "scores": reward, "extra_logs": {"graded": 1.0}}
    answer = openrlhf.reward_func(
        node.url, task=lambda row: {"type": "math", "answer": row["label"]}
    )
    assert answer([f"2+2?{RIGHT}"], ["2+2?"], ["4"])["rewards"] == 1.0
    # A right answer in the prompt does not count.
    assert answer([f"{RIGHT}{WRONG}"], [RIGHT], ["4"])["rewards"] == 0.0


def test_openrlhf_gets_an_error_or_nan(node: Node) -> None:
    label = json.dumps(UNGRADABLE)
    with pytest.raises(assay.NotGradedError):
        openrlhf.reward_func(node.url)([RIGHT], [""], [label])
    found = openrlhf.reward_func(node.url, missing="drop_group")([RIGHT], [""], [label])
    assert math.isnan(found["rewards"]) and math.isnan(found["scores"])


def test_openrlhf_rejects_lists_of_different_lengths(node: Node) -> None:
    function = openrlhf.reward_func(node.url)
    label = json.dumps(GOLD)
    for prompts, labels in [([""], [label] * 2), (["", ""], [label])]:
        with pytest.raises(ValueError, match="2 queries"):
            function([RIGHT, RIGHT], prompts, labels)


# -- slime


def sample(task: Any, response: str) -> SimpleNamespace:
    return SimpleNamespace(
        prompt="2+2?", response=response, label=json.dumps(task), metadata={}, remove_sample=False
    )


def test_slime_masks_a_sample_or_marks_it_for_the_filter(node: Node) -> None:
    arguments = SimpleNamespace(dynamic_sampling_filter_path=None)
    group = [sample(GOLD, RIGHT), sample(UNGRADABLE, RIGHT), sample(GOLD, WRONG)]
    masked = slime.reward(node.url, missing="mask")
    # The mean of the others, so that the mean of the group stays the same.
    assert finish(masked(arguments, group)) == [1.0, 0.5, 0.0]
    assert [one.remove_sample for one in group] == [False, True, False]
    with pytest.raises(ValueError, match="--group-rm"):
        finish(masked(arguments, group[0]))

    filtered = slime.reward(node.url, missing="drop_group")
    with pytest.raises(ValueError, match="--dynamic-sampling-filter-path"):
        finish(filtered(arguments, group[0]))
    arguments.dynamic_sampling_filter_path = "assay.slime.check_graded"
    one = sample(UNGRADABLE, RIGHT)
    finish(filtered(arguments, one))
    assert one.metadata[slime.WITHOUT_REWARD] and one.remove_sample


def test_slime_stops_by_default(node: Node) -> None:
    reward = slime.reward(node.url)
    assert finish(reward(SimpleNamespace(), sample(GOLD, RIGHT))) == 1.0
    with pytest.raises(assay.NotGradedError):
        finish(reward(SimpleNamespace(), sample(UNGRADABLE, RIGHT)))


# -- AReaL


def test_areal_gets_no_timeout_error(node: Node) -> None:
    reward = pickle.loads(pickle.dumps(areal.Reward(node.url)))
    assert reward("2+2?", RIGHT, [1], [2], task=GOLD) == 1.0
    with pytest.raises(assay.NotGradedError) as raised:
        reward("2+2?", RIGHT, [1], [2], task=UNGRADABLE)
    assert isinstance(pickle.loads(pickle.dumps(raised.value)), assay.NotGradedError)
    slow = areal.Reward(unreachable(), deadline=0.5)
    with pytest.raises(assay.AssayError) as failed:
        slow("2+2?", RIGHT, task=GOLD)
    assert not isinstance(failed.value, TimeoutError)


def test_areal_can_await_rewards_without_its_pool(node: Node) -> None:
    reward = areal.AsyncReward(node.url)
    assert finish(reward("2+2?", RIGHT, [1], [2], task=GOLD)) == 1.0
    with pytest.raises(assay.NotGradedError):
        finish(reward("2+2?", RIGHT, [1], [2], task=UNGRADABLE))


def late(row: Any) -> Any:
    raise TimeoutError


def test_areal_gets_no_timeout_error_of_the_function_for_the_task(node: Node) -> None:
    with pytest.raises(assay.AssayError) as failed:
        areal.Reward(node.url, task=late)("2+2?", RIGHT)
    assert not isinstance(failed.value, TimeoutError)


@pytest.mark.parametrize("deadline", [None, 15.0, math.inf, math.nan])
def test_areal_rejects_a_deadline_after_its_own(deadline: float | None) -> None:
    with pytest.raises(ValueError, match="at most 12 seconds"):
        areal.Reward("http://127.0.0.1:8080", deadline=deadline)


# -- Atropos


def test_atropos_drops_the_group(node: Node) -> None:
    scorer = atropos.Scorer(node.url)
    group: dict[str, Any] = {"tokens": [[1], [2]], "masks": [[1], [2]]}
    scored = finish(scorer.score(group, {"task": GOLD}, [RIGHT, WRONG]))
    assert scored is group and group["scores"] == [1.0, 0.0]
    assert finish(scorer.score({}, {"task": UNGRADABLE}, [RIGHT, WRONG])) is None
    strict = atropos.Scorer(node.url, missing="raise")
    with pytest.raises(assay.NotGradedError):
        finish(strict.score({}, {"task": UNGRADABLE}, [RIGHT]))
    with pytest.raises(ValueError, match="1 completions for a group of 2"):
        finish(scorer.score({"tokens": [[1], [2]]}, {"task": GOLD}, [RIGHT]))
