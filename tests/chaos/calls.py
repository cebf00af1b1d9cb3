"""Requests other than `/v1/grade`: programs and scores in the formats of other servers, and reads
of the record.

As in items, `@@` is replaced each time a request is sent, and no answer depends on the replacement.
"""

import json
import random

from items import MODEL


class Call:
    """One request, and a function that selects the part of its reply that never changes."""

    def __init__(self, path, body=None, same=None):
        self.path, self.same = path, same
        self._text = None if body is None else json.dumps(body)

    def body(self, nonce):
        return None if self._text is None else self._text.replace("@@", nonce).encode()

    def answer(self, reply):
        """The part that is compared with the quiet run; None if the answer changes."""
        return None if self.same is None else self.same(json.loads(reply))


def ran(reply):
    run = reply["run_result"]
    return [reply["status"], run["status"], run["return_code"], run["stdout"]]


def run_code(code, stdin="", seconds=10):
    body = {
        "code": f"tag = '@@'\n{code}",
        "language": "python",
        "stdin": stdin,
        "run_timeout": seconds,
    }
    return Call("/compat/sandboxfusion/run_code", body, ran)


def programs(rng):
    n = rng.randrange(10, 99)
    return {
        "prints": run_code("print(int(input()) * 2)", f"{n}\n"),
        "sums": run_code(f"print(sum(i % {n} for i in range(300_000)))"),
        "raises": run_code(f"print({n})\nraise ValueError({n})"),
        "exits": run_code(f"import sys\nprint({n})\nsys.exit(3)"),
        "loops": run_code("while True:\n    pass", seconds=0.2),
        "bomb": run_code("x = [0]\nwhile True:\n    x = x + x"),
        "syntax": run_code("def f(:\n    pass"),
    }


def scores(rng):
    texts = [f"Is {rng.randrange(99)} more than {rng.randrange(99)}? It is." for _ in range(4)]
    items = [{"prompt": text, "completion": text[::-1]} for text in texts]
    return {
        "score": Call(
            f"/v1/reward-models/{MODEL}/score",
            {"items": items},
            lambda reply: [[result["raw"], result["score"]] for result in reply["results"]],
        ),
        "openrlhf": Call(
            "/compat/openrlhf/get_reward",
            {"query": texts},
            lambda reply: [reply["rewards"], reply["scores"]],
        ),
        "tei": Call(
            "/compat/tei/predict",
            {"inputs": [[text] for text in texts], "raw_scores": True},
            lambda reply: reply,
        ),
        "vllm": Call(
            "/compat/vllm/classify",
            {"model": MODEL, "input": texts},
            lambda reply: [result["probs"] for result in reply["data"]],
        ),
    }


def reads(runs):
    found = {path: Call(path) for path in ("/v1/runs", "/v1/channels", "/v1/graders", "/metrics")}
    found.update({path: Call(path) for path in ("/ui", "/ui/runs", "/ui/grades", "/ui/channels")})
    for run in runs:
        found[f"grades of {run}"] = Call(f"/v1/grades?run={run}&limit=200")
        found[f"failed of {run}"] = Call(f"/v1/grades?run={run}&outcome=failed")
        found[f"suggested of {run}"] = Call(
            "/v1/prompts/suggest", {"run": run, "count": 5, "seed": 1}
        )
    return found


def make(seed):
    """Requests whose answers are compared, by name."""
    rng = random.Random(f"{seed} calls")
    return {
        **{f"program {name}": call for name, call in programs(rng).items()},
        **{f"scores {name}": call for name, call in scores(rng).items()},
    }
