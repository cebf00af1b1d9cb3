"""An environment of OpenEnv whose code runs in an interpreter session, and whose answers are
graded together with the log of that session.

    from openenv.core.env_server import create_app

    Code = assay.openenv.environment("http://127.0.0.1:8080")
    app = create_app(Code, assay.openenv.CodeAction, assay.openenv.CodeObservation,
                     max_concurrent_envs=1000)

`reset` accepts a task. An action has code to run, or the answer to the task, which ends the
episode: the observation then has the reward. Actions and observations with code are those of
OpenEnv's `coding_env`, so its client works too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

from assay.client import Client
from assay.sessions import Session


class CodeAction(Action):
    """Code to run, or the answer to the task of the episode."""

    code: str = ""
    answer: str | None = None


class CodeObservation(Observation):
    """What the code wrote. `metadata` has the value of its last expression, its outcome and what
    the session may still use; after an answer, the grade."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0


class CodeState(State):
    """The state of an episode, with the id of its session."""

    last_exit_code: int = 0
    session: str | None = None


def environment(
    server: str | Iterable[str],
    language: str = "python",
    *,
    image: str | None = None,
    limits: Mapping[str, Any] | None = None,
    key: str | None = None,
    run: str | None = None,
    policy: str | Mapping[str, Any] | None = None,
    deadline: float = 600.0,
) -> type[Environment[CodeAction, CodeObservation, CodeState]]:
    """A class of environments whose episodes each have an interpreter session.

    - `server`: URL of a server, or several. `key`: the key, if the server needs one.
    - `language`, `image`, `limits`: of the sessions, as in `Client.session`.
    - `run`, `policy`: of the answers, as in `Client.grade`.
    - `deadline`: seconds for a call or an answer, with retries.

    An answer without a reward raises `NotGradedError`, which the server reports to its client.
    """
    client = Client(server, key=key, deadline=deadline)

    class AssayEnvironment(Environment[CodeAction, CodeObservation, CodeState]):
        """Runs code in a session, and grades the answer."""

        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self) -> None:
            super().__init__()
            self._session: Session | None = None
            self._task: Mapping[str, Any] | None = None
            self._state = CodeState()

        def reset(
            self,
            seed: int | None = None,
            episode_id: str | None = None,
            task: Mapping[str, Any] | None = None,
            **_options: Any,
        ) -> CodeObservation:
            """Starts an episode, with a new session. `seed` is that of its random numbers."""
            self.close()
            session = client.session(language, image=image, seed=seed or 0, limits=limits)
            self._session, self._task = session.open(), task
            self._state = CodeState(episode_id=episode_id, session=session.id)
            return CodeObservation()

        def step(
            self, action: CodeAction, timeout_s: float | None = None, **_options: Any
        ) -> CodeObservation:
            """Runs the code of an action, or grades its answer. `timeout_s` limits the work of the
            code."""
            if self._session is None:
                self.reset()
            assert self._session is not None
            self._state.step_count += 1
            if action.answer is not None:
                return self._grade(self._session, action.answer)
            reply = self._session.run(action.code, seconds=timeout_s)
            exit_code = 0 if reply.outcome == "ok" else 1
            if reply.exit_status is not None:
                exit_code = reply.exit_status
            self._state.last_exit_code = exit_code
            return CodeObservation(
                stdout=reply.stdout,
                stderr=reply.stderr,
                exit_code=exit_code,
                metadata={
                    "value": reply.value,
                    "outcome": reply.outcome,
                    "remaining_calls": reply.remaining.calls,
                    "remaining_seconds": reply.remaining.seconds,
                },
            )

        def _grade(self, session: Session, answer: str) -> CodeObservation:
            if self._task is None:
                message = "the episode has no task; pass one to `reset(task=...)`"
                raise ValueError(message)
            item = {
                "completion": answer,
                "task": self._task,
                "checks": {"session": session.check()},
            }
            results = client.grade([item], run=run, policy=policy)
            (reward,) = results.rewards()
            result = results[0]
            return CodeObservation(
                done=True,
                reward=reward,
                metadata={"verdict": result.verdict, "grade": result.grade},
            )

        @property
        def state(self) -> CodeState:
            return self._state

        def close(self) -> None:
            if self._session is not None:
                self._session.close()
                self._session = None

    return AssayEnvironment


class CodeEnv(EnvClient[CodeAction, CodeObservation, CodeState]):
    """A client of these environments."""

    def _step_payload(self, action: CodeAction) -> dict[str, Any]:
        return action.model_dump(exclude={"metadata"})

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[CodeObservation]:
        done, reward = bool(payload.get("done")), payload.get("reward")
        observation = CodeObservation(**payload["observation"], done=done, reward=reward)
        return StepResult(observation=observation, reward=reward, done=done)

    def _parse_state(self, payload: dict[str, Any]) -> CodeState:
        return CodeState(**payload)
