"""A Python tool for verl's agent loop, whose calls in one trajectory share an interpreter session,
and rewards of which the log of that session is part.

The configuration of the tools names the class:

    tools:
      - class_name: verl_tools.PythonTool
        config: {type: native}

and the command line of verl the rewards:

    python -m verl.trainer.main_ppo … \\
        reward.custom_reward_function.path=verl_tools.py \\
        reward.custom_reward_function.name=compute_score

`ASSAY_SERVER` is the URL of the server.
"""

from __future__ import annotations

import os
from typing import Any

from verl.tools.base_tool import BaseTool
from verl.tools.schemas import OpenAIFunctionToolSchema, ToolResponse

import assay.verl

SERVER = os.environ.get("ASSAY_SERVER", "http://127.0.0.1:8080")
SCHEMA = {
    "type": "function",
    "function": {
        "name": "python",
        "description": "Runs Python. Names remain for the next call.",
        "parameters": {
            "type": "object",
            "properties": {"code": {"type": "string", "description": "The code."}},
            "required": ["code"],
        },
    },
}
# The field of `extra_info` with the id of the session.
SESSION = "assay_session"


class PythonTool(BaseTool):
    """Runs code in the session of a trajectory. The session ends when it is idle."""

    def __init__(self, config: dict[str, Any], tool_schema: Any = None) -> None:
        super().__init__(config, tool_schema or OpenAIFunctionToolSchema.model_validate(SCHEMA))
        self._client: assay.AsyncClient | None = None

    async def execute(
        self, instance_id: str, parameters: dict[str, Any], **kwargs: Any
    ) -> tuple[ToolResponse, float, dict[str, Any]]:
        """Runs `code`, and returns what it prints and the value of its last expression."""
        agent_data = kwargs["agent_data"]
        # Opened in the event loop of the agent.
        self._client = self._client or assay.AsyncClient(SERVER)
        name = f"verl/{agent_data.request_id}"
        session = await self._client.session("python", name=name, idle_seconds=600).open()
        agent_data.extra_fields[SESSION] = session.id
        reply = await session.run(str(parameters.get("code", "")))
        error = "" if reply.exception is None else reply.exception.traceback
        text = reply.stdout + (reply.value or "") + error
        return ToolResponse(text=text), 0.0, {"outcome": reply.outcome}


compute_score = assay.verl.compute_score(
    SERVER,
    task=lambda row: {"type": "math", "answer": row["reward_model"]["ground_truth"]},
    session=SESSION,
    policy={"veto": {"parts": ["session"]}},
    run="verl-tools",
)
