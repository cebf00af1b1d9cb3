"""Generates seeds from the project's test cases and documentation into a corpus folder; those in
`seeds/` are written by hand.
"""

import hashlib
import json
import pathlib
import re

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
LONGEST = 2000  # bytes; longer seeds slow down every mutation
LONGEST_MATH = 400  # longer cases are worst cases
FORMATS = {
    "json": "0",
    "yaml": "1",
    "xml": "2",
    "toml": "3",
    "csv": "4",
}  # first bytes of `document`


def write(corpus):
    """Writes the seeds of every target into `corpus/TARGET`."""

    def keep(target, text, longest=LONGEST):
        seed = text.encode()
        if 0 < len(seed) <= longest:
            folder = corpus / target
            folder.mkdir(parents=True, exist_ok=True)
            (folder / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)

    for case in cases("math"):
        golds = case["task"]["answer"]
        answer = case["completion"].replace("\n", " ")
        if answer.startswith("\\boxed{") and answer.endswith("}"):
            answer = answer[len("\\boxed{") : -1]
        keep("math_read", answer, LONGEST_MATH)
        for gold in [golds] if isinstance(golds, str) else golds:
            gold = gold.replace("\n", " ")
            keep("math_read", gold, LONGEST_MATH)
            keep("math_decide", f"{gold}\n{answer}", LONGEST_MATH)
        keep("extraction", "@" + case["completion"])
    for case in cases("code"):
        keep("extraction", "@" + case["completion"])
    for case in cases("sql"):
        golds = case["task"]["gold"]
        for gold in [golds] if isinstance(golds, str) else golds:
            keep("sql_text", f"0{case['completion']}\0{gold}")
            keep("sql_statement", "0" + gold)
    for case in cases("structured"):
        if isinstance(case["completion"], str):
            keep("document", FORMATS[case["task"].get("format", "json")] + case["completion"])
    for case in cases("tools"):
        completion = case["completion"]
        for text in [completion] if isinstance(completion, str) else map(json.dumps, completion):
            keep("tool_calls", "0" + text)
    for grader in ["code", "sql", "structured", "tools"]:
        for case in list(cases(grader))[::10]:
            item = {name: case[name] for name in ["task", "completion"] if name in case}
            keep("request", json.dumps({"items": [item]}))
    # A group of four items with every part and measure, for each policy function.
    group = bytes([4]) + (b"\x60" + b"0(80(808" * 2) * 4 + (b"\x18(8" * 4)
    policies = (ROOT / "docs/POLICIES.md").read_text()
    for example in re.findall(r"^\| `\w+` \| `(\{.*\})` \|$", policies, re.MULTILINE):
        keep("policy", f"{example}\n{group.decode('latin-1')}")
    for named in (ROOT / "services/templates/named").glob("*.json"):
        template = json.dumps(json.loads(named.read_text()))
        columns = sorted(set(re.findall(r"[a-z_]+", template)))
        row = {column: "1 #### 2 \\boxed{3}" for column in columns}
        keep("row_template", f"{template}\n{json.dumps(row)}")


def cases(grader):
    lines = (ROOT / f"tests/cases/{grader}.jsonl").read_text().splitlines()
    return (json.loads(line) for line in lines if line.strip())
