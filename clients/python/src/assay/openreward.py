"""An environment of the Open Reward Standard, which the package `openreward` serves over HTTP and
server-sent events.

    from openreward.environments import Server

    Math = assay.openreward.environment("math", rows, "http://127.0.0.1:8080", template="gsm8k")
    Server([Math]).run(port=8090)

The answer to a task is the argument of the tool `submit`. If it has no reward, the tool raises an
error, which is reported to the client. With `missing="mask"`, the reward of the output is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from openreward.environments import Environment, Split, TextBlock, ToolOutput, tool
from pydantic import BaseModel

from assay.rollouts import Rollouts, check_missing

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from assay.rollouts import RolloutOptions


class Answer(BaseModel):
    """The argument of `submit`."""

    answer: str


def environment(
    name: str,
    rows: Mapping[str, Sequence[Mapping[str, Any]]] | Sequence[Mapping[str, Any]],
    server: str | Iterable[str] | None = None,
    *,
    missing: str = "raise",
    **options: Unpack[RolloutOptions],
) -> type[Environment]:
    """A class of environments with one task for each row.

    - `name`: the name of the environment.
    - `rows`: the rows of the split `train`, or the rows of each split by its name.
    - `server`: URL of a server, or several; by default the process starts a private node.
    - `missing`: `"raise"` or `"mask"`, as described above.
    - `options`: the arguments of `assay.Rollouts`; `prompt` is the column `question` by default.
    """
    masks = check_missing(missing, ("raise", "mask")) == "mask"
    splits = {"train": rows} if isinstance(rows, Sequence) else dict(rows)
    prompt = options.setdefault("prompt", "question")
    rollouts = Rollouts(server, **options)

    class AssayEnvironment(Environment):
        """Grades the submitted answer, and ends."""

        @classmethod
        def name(cls) -> str:
            return name

        @classmethod
        def list_splits(cls) -> Sequence[Split | str]:
            return list(splits)

        @classmethod
        def list_tasks(cls, split: str) -> Sequence[Mapping[str, Any]]:
            return splits[split]

        def get_prompt(self) -> list[TextBlock]:
            return [TextBlock(text=str(self._prompt()))]

        def _prompt(self) -> Any:
            return prompt(self.task_spec) if callable(prompt) else self.task_spec[str(prompt)]

        @tool
        async def submit(self, args: Answer) -> ToolOutput:
            """Submits the answer, and ends the task."""
            results = await rollouts.grade_async(
                [self.task_spec], [args.answer], prompts=[self._prompt()]
            )
            if not masks:
                results.rewards()
            result = results[0]
            return ToolOutput(
                blocks=[TextBlock(text=str(result.verdict))],
                reward=result.reward,
                finished=True,
                metadata={"graded": results.mask[0], "grade": result.grade},
            )

    AssayEnvironment.submit.__annotations__["args"] = Answer
    return AssayEnvironment
