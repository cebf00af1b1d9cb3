"""Starts a server for a run, with a new record, a small reward model, and rows that requests can
refer to.
"""

import array
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request

TOKENIZER = (
    pathlib.Path(__file__).resolve().parents[2]
    / "graders/reward-model/tests/reference/tokenizers/qwen2"
)
SIZES = {
    "vocab_size": 700,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 512,
}
CONFIGURATION = {
    **SIZES,
    "architectures": ["Qwen2ForSequenceClassification"],
    "model_type": "qwen2",
    "num_labels": 1,
    "rms_norm_eps": 1e-6,
}
RUN, MODEL = "demo", "scalar"


def tensors():
    """Names and shapes of the model's weights."""
    hidden, inner, narrow = 16, 24, 8
    layer = {
        "self_attn.q_proj.weight": [hidden, hidden],
        "self_attn.q_proj.bias": [hidden],
        "self_attn.k_proj.weight": [narrow, hidden],
        "self_attn.k_proj.bias": [narrow],
        "self_attn.v_proj.weight": [narrow, hidden],
        "self_attn.v_proj.bias": [narrow],
        "self_attn.o_proj.weight": [hidden, hidden],
        "mlp.gate_proj.weight": [inner, hidden],
        "mlp.up_proj.weight": [inner, hidden],
        "mlp.down_proj.weight": [hidden, inner],
        "input_layernorm.weight": [hidden],
        "post_attention_layernorm.weight": [hidden],
    }
    return {
        "model.embed_tokens.weight": [700, hidden],
        "model.norm.weight": [hidden],
        "score.weight": [1, hidden],
        **{f"model.layers.0.{name}": shape for name, shape in layer.items()},
    }


def write_model(folder):
    """Writes a model with random weights."""
    shutil.copytree(TOKENIZER, folder)
    (folder / "config.json").write_text(json.dumps(CONFIGURATION))
    draw, header, data = random.Random(1), {}, array.array("f")
    for name, shape in tensors().items():
        begin, count = len(data) * 4, shape[0] * (shape[1] if len(shape) > 1 else 1)
        data.extend(draw.uniform(-0.5, 0.5) for _ in range(count))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data) * 4]}
    head = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(
        len(head).to_bytes(8, "little") + head + data.tobytes()
    )


def call(url, body=None):
    """Sends a request and returns the JSON of the reply."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)


def fill(url):
    """Creates rows of every kind and returns their names."""
    task = {"type": "math", "answer": "1/3"}
    items = [
        {
            "id": "a",
            "group": "p",
            "prompt_key": "p",
            "prompt": "1/6 + 1/6?",
            "completion": r"\boxed{2/6}",
            "task": task,
        },
        {
            "id": "b",
            "group": "p",
            "prompt_key": "p",
            "completion": [{"role": "assistant", "content": "0.5"}],
            "task": task,
        },
        {"id": "c", "completion": "1", "task": {"type": "math", "answer": ""}},
    ]
    grades = [
        result["grade"]
        for result in call(f"{url}/v1/grade", {"run": RUN, "step": 1, "items": items})["results"]
    ]
    call(f"{url}/v1/grades/{grades[0]}/adjudicate", {"pass": True, "note": "seen"})
    call(
        f"{url}/v1/channels/calibrations",
        {
            "channel": "math/default",
            "version": 1,
            "method": "labels",
            "right": 100,
            "right_rejected": 4,
            "wrong": 100,
            "wrong_passed": 1,
        },
    )
    report = {
        "version": "1",
        "errors": 1,
        "warnings": 0,
        "counts": {"no_gold": 1},
        "datasets": [{"dataset": "maths.jsonl", "rows": 1, "checked": 1}],
        "findings": [
            {
                "code": "no_gold",
                "severity": "error",
                "dataset": "maths.jsonl",
                "line": 1,
                "key": "1",
                "message": "the row has no answer",
            }
        ],
    }
    check = call(f"{url}/v1/checks", report)["check"]
    pair = {"prompt": "1/6 + 1/6?", "accepted": "1/3", "rejected": "1/4"}
    call(f"{url}/v1/reward-models/{MODEL}/pairs", {"pairs": [pair]})
    return {"grades": grades, "check": check, "run": RUN, "model": MODEL}


def wait_for(url):
    """Waits until the node is ready and its model is loaded."""
    for _ in range(600):
        with contextlib.suppress(OSError):
            models = call(f"{url}/v1/reward-models")["reward_models"]
            if models and all(model["state"] != "loading" for model in models):
                assert models[0]["state"] == "ready", models
                return
        time.sleep(0.1)
    raise SystemExit("the server did not load its model within a minute")


@contextlib.contextmanager
def serve(binary):
    """Runs a server on a free port in a temporary folder; yields its address, the names of its rows
    and the folder.
    """
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_model(folder / "models" / MODEL)
        # No hub, so that no request can make the server fetch a model.
        (folder / "assay.toml").write_text(
            f'[reward_models]\nfolder = "{folder}/models"\ndefault = "{MODEL}"\nhub = ""\n'
            f'[reward_models.load.{MODEL}]\nsource = "{MODEL}"\n'
        )
        with open(folder / "log", "w", encoding="utf-8") as log:
            server = subprocess.Popen(
                [
                    binary,
                    "serve",
                    "--config",
                    "assay.toml",
                    "--listen",
                    "127.0.0.1:0",
                    "--database",
                    "sqlite://record.db",
                ],
                cwd=folder,
                stderr=log,
                env={**os.environ, "NO_COLOR": "1"},
            )
        try:
            url = address(server, folder / "log")
            wait_for(url)
            yield url, fill(url), folder
            if server.poll() is not None:
                raise SystemExit(
                    f"the server ended with {server.returncode}:\n{(folder / 'log').read_text()[-4000:]}"
                )
        finally:
            server.terminate()
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def address(server, log):
    """Returns the address that the server logs when it listens."""
    for _ in range(600):
        found = re.search(r"127\.0\.0\.1:\d+", log.read_text(encoding="utf-8"))
        if found:
            return f"http://{found.group()}"
        if server.poll() is not None:
            break
        time.sleep(0.1)
    raise SystemExit(f"the server did not start:\n{log.read_text(encoding='utf-8')[-4000:]}")
