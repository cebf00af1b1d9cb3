"""The prompts of rollouts, as the server reads them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

# The column that has the prompt by default.
COLUMN = "prompt"
# Roles of messages that the server accepts.
ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
OPENER = "<think>"


def prompt_of(
    given: Any, row: Mapping[str, Any], column: str | Callable[[Any], Any] | None
) -> tuple[str | list[dict[str, Any]] | None, bool]:
    """The prompt of a rollout, and whether it is complete.

    `given` is what the trainer passes, and `column` where the row has the prompt. Content other
    than text is left out, and so are prompts that are neither a text nor messages.
    """
    if given is None:
        if callable(column):
            given = column(row)
        elif column is None:
            given = row.get(COLUMN)
        elif column in row:
            given = row[column]
        else:
            columns = ", ".join(f"`{name}`" for name in row)
            raise KeyError(f"no column `{column}` with the prompt; the columns are {columns}")
    if isinstance(given, str):
        return given, True
    if hasattr(given, "tolist"):
        given = given.tolist()
    if not isinstance(given, (list, tuple)) or not given:
        return None, False
    messages = [_message(one) for one in given]
    found = [message for message, _ in messages if message is not None]
    if len(found) < len(messages):
        return None, False
    return found, all(is_complete for _, is_complete in messages)


def _message(message: Any) -> tuple[dict[str, Any] | None, bool]:
    """A message, and whether it is complete."""
    if not isinstance(message, Mapping) or message.get("role") not in ROLES:
        return None, False
    # Tables store null for keys that only other messages have.
    found = {name: value for name, value in message.items() if value is not None}
    content: Any = found.get("content")
    if hasattr(content, "tolist"):
        content = content.tolist()
    if content is None or isinstance(content, str):
        return {**found, "content": content}, True
    if not isinstance(content, (list, tuple)):
        return None, False
    parts = [_part(part) for part in content]
    return {**found, "content": parts}, parts == list(content)


def _part(part: Any) -> Any:
    """A part of the content of a message. Of an image, only the type is left."""
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return {"type": type(part).__name__}
    kind = part.get("type")
    if kind == "text" and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    return {"type": str(kind)}


def opens_think(prompt: Any) -> bool:
    """Whether a prompt ends inside `<think>`, so that the completion starts as reasoning."""
    return isinstance(prompt, str) and prompt.rstrip().endswith(OPENER)


def group_of(prompt: Any) -> str:
    """The name of the group of a prompt: equal prompts have equal names."""
    text = json.dumps(prompt, sort_keys=True, default=_content)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _content(value: Any) -> Any:
    """What identifies a value that is not JSON. `str` of an image is its memory address."""
    if hasattr(value, "tobytes"):
        return hashlib.sha256(value.tobytes()).hexdigest()
    return str(value)
