#!/usr/bin/env python3
"""Judges items with a small model behind an OpenAI-compatible server, end to end: `assay grade` with
a record, and what is recorded.

usage: judged.py PATH/TO/assay

The model is a Llama of two layers. Its weights are first random, so that no reply can be read, and
then trained on the prompts that were sent, so that it replies in the requested form. Fails unless
every outcome is a score that its reply states, or `failed` with the reason; and unless the raw
reply, the model and the hash of the prompt are recorded.
"""

import argparse
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

REFERENCE = pathlib.Path(__file__).parents[2] / "graders/reward-model/tests/reference"
sys.path.insert(0, str(REFERENCE))
os.environ["HF_HUB_OFFLINE"] = "1"

import torch  # noqa: E402
import transformers  # noqa: E402

TOKENIZER = REFERENCE / "tokenizers/qwen2"
ITEMS = 12
LONGEST = 40  # most new tokens of a reply
STEPS = 150
SCORES = [7, 3, 9]
"""What the model learns to reply; the one of a prompt is chosen by its length."""


class Model:
    """A Llama with random weights, which can be trained on what it was asked."""

    def __init__(self, name):
        self.name = name
        self.lock = threading.Lock()
        self.asked, self.replies = [], []
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(TOKENIZER)
        torch.manual_seed(7)
        config = transformers.LlamaConfig(
            vocab_size=len(self.tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=4096,
        )
        self.model = transformers.LlamaForCausalLM(config).eval()
        self.end = self.tokenizer.convert_tokens_to_ids("<|im_end|>")

    def ids(self, messages):
        text = self.tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=False
        )
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def complete(self, request):
        """A chat completion by greedy decoding."""
        with self.lock, torch.no_grad():
            prompt = self.ids(request["messages"])
            self.asked.append(request["messages"])
            limit = min(LONGEST, request["max_tokens"])
            out = self.model.generate(
                torch.tensor([prompt]),
                attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
                max_new_tokens=limit,
                do_sample=False,
                eos_token_id=self.end,
                pad_token_id=self.end,
            )[0][len(prompt) :].tolist()
            ended = out[-1:] == [self.end]
            text = self.tokenizer.decode(out[:-1] if ended else out)
            self.replies.append(text)
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "model": self.name,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": "stop" if ended else "length",
                }
            ],
            "usage": {"prompt_tokens": len(prompt), "completion_tokens": len(out)},
        }

    def train(self):
        """Learns to reply to the prompts so far in the requested form."""
        rows = []
        for number, messages in enumerate(self.asked):
            score = SCORES[number % len(SCORES)]
            reply = json.dumps({"reason": "short", "score": score})
            rows.append(
                (
                    self.ids(messages),
                    self.tokenizer(reply, add_special_tokens=False)["input_ids"] + [self.end],
                )
            )
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3)
        self.model.train()
        for step in range(STEPS):
            prompt, reply = rows[step % len(rows)]
            labels = torch.tensor([[-100] * len(prompt) + reply])
            loss = self.model(input_ids=torch.tensor([prompt + reply]), labels=labels).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        self.model.eval()
        return loss.item()


def serve(model):
    """Starts the server of a model, and returns it."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            found = self.path == "/v1/chat/completions" and request["model"] == model.name
            body = model.complete(request) if found else {"error": {"message": "no such model"}}
            body = json.dumps(body).encode()
            self.send_response(200 if found else 404)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def items():
    """Items with prompts and completions of different lengths."""
    return [
        {
            "id": f"item-{number}",
            "prompt": f"What is {number} + {number}?",
            "completion": f"It is {2 * number}." + " Really." * (number % 4),
            "task": {"type": "external", "judge": "small", "threshold": 0.5},
        }
        for number in range(ITEMS)
    ]


def run(binary, folder, *arguments):
    """The output of a command."""
    done = subprocess.run(
        [binary, *arguments], cwd=folder, capture_output=True, text=True, encoding="utf-8"
    )
    if done.returncode not in (0, 1):
        sys.exit(f"assay {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def judged(binary, folder, name):
    """The results of all items, and their recorded grades."""
    record = ["--database", f"sqlite://{folder}/{name}.db"]
    output = run(binary, folder, "grade", "items.jsonl", "--run", name, *record)
    found = [json.loads(line) for line in output.splitlines()]
    assert len(found) == ITEMS, f"{len(found)} results of {ITEMS} items"
    shown = {
        result["id"]: json.loads(run(binary, folder, "show", result["grade"], "--json", *record))
        for result in found
    }
    return found, shown


def check(model, found, shown):
    """Checks every outcome against the replies that were sent; returns the scores."""
    scores = []
    for result in found:
        recorded = shown[result["id"]]
        for name in ("outcome", "score", "error", "evidence"):
            assert recorded[name] == result[name], (name, recorded, result)
        if result["outcome"] == "failed":
            assert result["score"] is None and result["reward"] is None, result
            assert result["error"]["code"] == "judge_failed", result
            reason = result["error"]["message"]
            assert "`small` sent an invalid reply: " in reason, reason
            continue
        assert result["outcome"] == "graded", result
        [judge] = result["evidence"]["judges"]
        assert judge["model"] == model.name, judge
        assert re.fullmatch("[0-9a-f]{16}", judge["prompt_version"]), judge
        assert judge["reply"] in model.replies, judge
        stated = json.loads(judge["reply"])["score"]
        assert judge["given"] == stated and abs(result["score"] - stated / 10) < 1e-9, result
        assert judge["tokens"]["written"] > 0 and judge["calls"] >= 1, judge
        scores.append(result["score"])
    return scores


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("binary", type=lambda path: str(pathlib.Path(path).resolve()))
    binary = parser.parse_args().binary
    torch.set_num_threads(1)
    model = Model("llama-of-two-layers")
    server = serve(model)
    with tempfile.TemporaryDirectory() as folder:
        url = f"http://127.0.0.1:{server.server_port}/v1/chat/completions"
        (pathlib.Path(folder) / "assay.toml").write_text(
            f'[judges.small]\nurl = "{url}"\nmodel = "{model.name}"\nmax_tokens = {LONGEST}\n'
            "call_seconds = 120\nretries = 0\nin_flight = 2\n"
        )
        lines = "".join(json.dumps(item) + "\n" for item in items())
        (pathlib.Path(folder) / "items.jsonl").write_text(lines)
        found, shown = judged(binary, folder, "random")
        scores = check(model, found, shown)
        assert len(model.replies) >= 2 * ITEMS - 2 * len(scores), "each reply is requested twice"
        print(f"random weights: {len(scores)} scores, {ITEMS - len(scores)} failed")
        assert len(scores) < ITEMS, "a model with random weights replied in the requested form"
        loss = model.train()
        found, shown = judged(binary, folder, "trained")
        scores = check(model, found, shown)
        print(f"trained, loss {loss:.3f}: {len(scores)} scores, {ITEMS - len(scores)} failed")
        assert scores, f"no reply of the trained model was read: {model.replies[-3:]}"
    server.shutdown()


if __name__ == "__main__":
    main()
