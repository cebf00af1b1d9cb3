"""A Python tool for tasks of verifiers, whose calls in one rollout share an interpreter session,
and a reward of which the log of that session is part.

`ASSAY_SERVER` is the URL of the server.
"""

from __future__ import annotations

import os

import verifiers.v1 as vf

import assay

SERVER = os.environ.get("ASSAY_SERVER", "http://127.0.0.1:8080")
POLICY = {"veto": {"parts": ["session"]}}


class PythonState(vf.State):
    """What the tool and the reward of a rollout share."""

    session: str | None = None


class PythonToolset(vf.Toolset[vf.ToolsetConfig, PythonState]):
    """Runs code in the session of a rollout."""

    TOOL_PREFIX = None

    @vf.tool
    async def python(self, code: str) -> str:
        """Runs Python, and returns what it prints and the value of its last expression. Names
        remain for the next call."""
        async with assay.AsyncClient(SERVER) as client:
            # The name leads back to the session of the rollout.
            name = self.state.session or f"verifiers/{os.urandom(16).hex()}"
            session = await client.session("python", name=name, idle_seconds=600).open()
            self.state.session = name
            reply = await session.run(code)
        error = "" if reply.exception is None else reply.exception.traceback
        return reply.stdout + (reply.value or "") + error


class MathData(vf.TaskData):
    """A question with its answer."""

    answer: str


class MathTask(vf.Task[MathData, PythonState]):
    """A question whose answer the model computes with Python."""

    @classmethod
    def toolsets(cls, config: vf.TaskConfig) -> list[vf.Toolset]:
        return [PythonToolset(vf.ToolsetConfig())]

    @vf.reward
    async def correct(self, trace: vf.Trace) -> float:
        """Grades the last reply with the log of the session."""
        item = {
            "completion": trace.last_reply,
            "task": {"type": "math", "answer": self.data.answer},
        }
        async with assay.AsyncClient(SERVER) as client:
            if trace.state.session is not None:
                session = await client.session("python", name=trace.state.session).open()
                item["checks"] = {"session": await session.check()}
                await session.close()
            results = await client.grade([item], run="verifiers-tools", policy=POLICY)
        return results.rewards()[0]


if __name__ == "__main__":
    PythonToolset.run()
