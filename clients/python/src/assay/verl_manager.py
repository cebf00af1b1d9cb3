"""A reward manager for verl that grades only what the model wrote, with its prompt.

    reward.reward_manager.source=importlib
    reward.reward_manager.name=RewardManager
    reward.reward_manager.module.path=pkg://assay.verl_manager

It calls the `compute_score` of `assay.verl` that `reward.custom_reward_function` names.

The response of an agent loop with tools also contains the output of the tools. The response mask
tells them apart, but verl's reward loop does not pass the mask, so the agent loop has to keep it:
import this module with the environment variable `VERL_USE_EXTERNAL_MODULES=assay.verl_manager`, and
use the agent `assay_tool_agent` instead of `tool_agent`. An agent loop of your own calls
`keep_mask` on its output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

from omegaconf import OmegaConf
from verl import DataProto
from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, register
from verl.experimental.agent_loop.tool_agent_loop import ToolAgentLoop
from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase

from assay._prompts import opens_think
from assay.verl import SINGLE_TURN

# Field of the output of an agent loop, which verl passes to the reward manager.
MASK = "assay_response_mask"
# Tokens at the end of a prompt that can contain an opening `<think>`.
PROMPT_END = 16


def keep_mask(output: AgentLoopOutput) -> AgentLoopOutput:
    """The output of an agent loop, which keeps its response mask for the reward manager."""
    output.extra_fields[MASK] = list(output.response_mask)
    return output


@register("assay_tool_agent")
class MaskedToolAgentLoop(ToolAgentLoop):
    """verl's agent loop with tools, which keeps the response mask."""

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> AgentLoopOutput:
        """A rollout."""
        # The decorator of verl's method hides that it is implemented.
        run: Any = super().run
        return keep_mask(await run(sampling_params, **kwargs))


class RewardManager(RewardManagerBase):
    """Grades rollouts with the `compute_score` of `assay.verl`."""

    def __init__(
        self,
        config: Any,
        tokenizer: Any,
        compute_score: Callable[..., Any] | None,
        reward_router_address: str | None = None,
        reward_model_tokenizer: Any = None,
    ) -> None:
        super().__init__(config, tokenizer, compute_score)
        self._tokenizer = tokenizer
        if compute_score is None:
            raise ValueError(
                "set `reward.custom_reward_function.path` to a file with `compute_score = "
                "assay.verl.compute_score(…)`"
            )
        self._compute_score = compute_score

    async def run_single(self, data: DataProto) -> dict[str, Any]:
        """The reward of a rollout, which is the last of its sequences."""
        sequences: Any = data
        item = sequences[-1:][0]
        fields: Mapping[str, Any] = item.non_tensor_batch
        extra = dict(fields.get("extra_info") or {})
        extra["num_turns"] = fields.get("__num_turns__")
        found = await self.loop.run_in_executor(None, lambda: self._read(item))
        result = await self._compute_score(
            data_source=fields["data_source"],
            solution_str=found["completion"],
            ground_truth=fields["reward_model"]["ground_truth"],
            extra_info=extra,
            prompt=found["prompt"],
            meta=found["meta"],
            is_own_text=True,
        )
        return {"reward_score": result["score"], "reward_extra_info": dict(result)}

    def _read(self, item: Any) -> dict[str, Any]:
        """The completion of a rollout, its prompt, and facts about it."""
        responses = item.batch["responses"]
        valid = int(item.batch["attention_mask"][-responses.shape[-1] :].sum())
        tokens = responses[:valid].tolist()
        mask = _mask(item, valid)
        prompt = item.non_tensor_batch.get("raw_prompt")
        ids = item.batch["prompts"]
        attended = item.batch["attention_mask"][: ids.shape[-1]].bool()
        ids = ids[attended].tolist()
        meta: dict[str, Any] = {"tokens": sum(mask)}
        longest = OmegaConf.select(self.config, "data.max_response_length")
        if longest is not None:
            is_ended = bool(tokens) and tokens[-1] == self._tokenizer.eos_token_id
            meta["truncated"] = valid >= longest and not is_ended
        if opens_think(self._tokenizer.decode(ids[-PROMPT_END:])):
            meta["think_open"] = True
        return {
            "completion": _completion(self._decode, tokens, mask),
            "prompt": self._decode(ids) if prompt is None else prompt,
            "meta": meta,
        }

    def _decode(self, tokens: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(tokens, skip_special_tokens=True)
        return text


def _mask(item: Any, valid: int) -> list[bool]:
    """For each token of a response, whether the model wrote it."""
    extra = item.non_tensor_batch.get("tool_extra_fields") or {}
    if "response_mask" in item.batch.keys():  # noqa: SIM118, a TensorDict
        mask = item.batch["response_mask"][:valid].tolist()
    elif MASK in extra:
        mask = list(extra[MASK])[:valid]
    else:
        turns = item.non_tensor_batch.get("__num_turns__")
        if turns is not None and turns > SINGLE_TURN:
            raise ValueError(
                f"the rollout has {turns} turns and no response mask, so that the output of tools "
                "would be graded as the model's answer; use the agent `assay_tool_agent`, or call "
                "`assay.verl_manager.keep_mask` in your agent loop"
            )
        return [True] * valid
    if len(mask) != valid:
        raise ValueError(f"the response mask has {len(mask)} values for {valid} tokens")
    return [bool(one) for one in mask]


def _completion(
    decode: Callable[[Sequence[int]], str], tokens: Sequence[int], mask: Sequence[bool]
) -> str | list[dict[str, str]]:
    """What the model wrote: a text, or the messages of a rollout with tools."""
    if all(mask):
        return decode(tokens)
    messages = []
    for is_own, part in groupby(zip(tokens, mask), key=lambda pair: pair[1]):
        text = decode([token for token, _ in part])
        messages.append({"role": "assistant" if is_own else "tool", "content": text})
    if not any(mask):
        messages.append({"role": "assistant", "content": ""})
    return messages
