"""Fixtures of the tests."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import Node

import assay


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node with a record that the tests share."""
    started = Node(tmp_path_factory.mktemp("node")).start()
    yield started
    started.stop()


@pytest.fixture
def client(node: Node) -> Iterator[assay.Client]:
    with assay.Client(node.url, deadline=60) as made:
        yield made


@pytest.fixture
def run() -> str:
    """A run of this test alone."""
    return f"run-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[list[Node]]:
    """Nodes that a test starts; all are stopped after it."""
    made: list[Node] = []
    yield made
    for one in made:
        one.stop()
