"""The examples of `docs/TRAINERS.md`."""

from __future__ import annotations

import contextlib
import io
from typing import Any

from support import Node
from test_documents import BLOCK, ROOT, words


def test_the_examples_of_the_document_run(node: Node) -> None:
    path = ROOT / "docs" / "TRAINERS.md"
    text = path.read_text()
    ran = compared = 0
    printed = ""
    for block in BLOCK.finditer(text):
        if block["not_run"]:
            continue
        if block["language"] == "text":
            assert words(block["text"]) == words(printed)
            compared += 1
            continue
        line = text.count("\n", 0, block.start("text"))
        source = block["text"].replace("http://127.0.0.1:8080", node.url)
        output = io.StringIO()
        names: dict[str, Any] = {"__name__": "example"}
        with contextlib.redirect_stdout(output):
            exec(compile("\n" * line + source, str(path), "exec"), names)
        printed = output.getvalue()
        ran += 1
    assert ran >= 10 and compared == 1
