"""The requests of the service other than grading, with the types of their replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from assay import models
from assay._core import Call, Request
from assay._items import encode
from assay.models import (
    Channels,
    Check,
    CheckDetail,
    CheckReport,
    Checks,
    GradeDetail,
    GradeFilters,
    Graders,
    Grades,
    Policies,
    Receipt,
    Replay,
    RewardModels,
    RunDetail,
    Runs,
    ScoreReply,
    Suggestions,
)

FILTERS = frozenset(GradeFilters.__annotations__)
PAGE = 1000


def _get(path: str, **query: Any) -> Request:
    given = tuple((name, _text(value)) for name, value in query.items() if value is not None)
    return Request("GET", path, query=given)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def post(path: str, body: Any, *, repeatable: bool = True, weight: int = 1) -> Request:
    return Request(
        "POST",
        path,
        body=encode(body),
        headers={"content-type": "application/json"},
        repeatable=repeatable,
        weight=weight,
    )


def page(limit: int | None) -> int:
    """The size of a page if at most `limit` grades are wanted."""
    if limit is not None and limit < 0:
        raise ValueError("`limit` must be at least 0")
    return PAGE if limit is None else max(min(limit, PAGE), 1)


def grades(filters: Mapping[str, Any], before: str | None, limit: int) -> Call[Grades]:
    """A page of grades."""
    unknown = filters.keys() - FILTERS
    if unknown:
        names, known = ", ".join(sorted(unknown)), ", ".join(sorted(FILTERS))
        raise TypeError(f"unknown filter `{names}`; the filters are {known}")
    return Call(_get("/v1/grades", **filters, before=before, limit=limit), Grades)


def segment(name: str) -> str:
    """A name in the path of a URL."""
    if name in (".", ".."):
        raise ValueError(f"the name `{name}` cannot be part of a URL, where it means a folder")
    return quote(name, safe="")


def grade(name: str) -> Call[GradeDetail]:
    """One stored grade."""
    return Call(_get(f"/v1/grades/{segment(name)}"), GradeDetail)


def receipt(name: str) -> Call[Receipt]:
    """The signed receipt of a stored grade."""
    return Call(_get(f"/v1/grades/{segment(name)}/receipt"), Receipt)


def replay(name: str) -> Call[Replay]:
    """A stored item, graded again. A replay is not recorded, so it can be repeated."""
    return Call(Request("POST", f"/v1/grades/{segment(name)}/replay"), Replay)


def runs() -> Call[Runs]:
    """The runs."""
    return Call(_get("/v1/runs"), Runs)


def run(name: str, steps: int | None) -> Call[RunDetail]:
    """One run."""
    return Call(_get(f"/v1/runs/{segment(name)}", steps=steps), RunDetail)


def graders() -> Call[Graders]:
    """The graders."""
    return Call(_get("/v1/graders"), Graders)


def channels(after: str | None) -> Call[Channels]:
    """A page of channels."""
    return Call(_get("/v1/channels", after=after), Channels)


def policies() -> Call[Policies]:
    """The reward policies."""
    return Call(_get("/v1/policies"), Policies)


def reward_models() -> Call[RewardModels]:
    """The reward models."""
    return Call(_get("/v1/reward-models"), RewardModels)


def score(
    model: str, inputs: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> Call[ScoreReply]:
    """Scores of a reward model. They are not recorded, so the request can be repeated."""
    path = f"/v1/reward-models/{segment(model)}/score"
    return Call(post(path, {**options, "items": inputs}, weight=len(inputs)), ScoreReply)


def suggest(run: str, options: Mapping[str, Any]) -> Call[Suggestions]:
    """The prompts to sample next."""
    return Call(post("/v1/prompts/suggest", {**options, "run": run}), Suggestions)


def checks(before: str | None, limit: int) -> Call[Checks]:
    """A page of dataset checks."""
    return Call(_get("/v1/checks", before=before, limit=limit), Checks)


def check(name: str) -> Call[CheckDetail]:
    """One dataset check with its report."""
    return Call(_get(f"/v1/checks/{segment(name)}"), CheckDetail)


def record_check(report: CheckReport) -> Call[Check]:
    """Stores the report of a dataset check."""
    return Call(post("/v1/checks", report.to_dict(), repeatable=False), Check)


def replay_session(log: models.SessionLog | Mapping[str, Any]) -> Call[models.SessionReplay]:
    """The calls of a session's log, run again. Nothing is kept, so it can be repeated."""
    body = log if isinstance(log, Mapping) else log.to_dict()
    return Call(post("/v1/sessions/replay", body), models.SessionReplay)
