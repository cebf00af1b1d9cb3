"""Makes requests that reach stored rows, and checks what the test client has no check for."""
import itertools
import json
import os
import re
import zlib

import jsonschema
import schemathesis

NAMES = json.loads(os.environ["ASSAY_NAMES"])
COUNT = itertools.count()
ID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", re.IGNORECASE)


def stored(path, name, value):
    """The name of a stored row in place of three of four generated names of its kind."""
    if not isinstance(value, str) or zlib.crc32(value.encode("utf-8", "surrogatepass")) % 4 == 0:
        return value
    if name == "id" and ID.fullmatch(value):
        return NAMES["check"] if "/checks/" in path else NAMES["grades"][ord(value[-1]) % len(NAMES["grades"])]
    return {"name": "default" if "/policies/" in path else NAMES["model"], "run": NAMES["run"]}.get(name, value)


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Lets most requests find a row, and none replace the model or take it away."""
    operation = context.operation
    if not path_parameters:
        return path_parameters
    if operation.method.upper() in ("PUT", "DELETE"):
        return {name: f"{value}2" if value == NAMES["model"] else value for name, value in path_parameters.items()}
    return {name: stored(operation.path, name, value) for name, value in path_parameters.items()}


@schemathesis.hook
def map_query(context, query):
    """Names the channel that has grades."""
    if context.operation.path == "/v1/channels/compare" and query and next(COUNT) % 4:
        return {name: "math/default" if name in ("one", "other") and isinstance(value, str) else value for name, value in query.items()}
    return query


@schemathesis.hook
def map_headers(context, headers):
    """Asks for a stream now and then, and repeats few idempotency keys: a key that comes back with another body is refused."""
    if context.operation.path == "/v1/grade" and headers is not None:
        draw = next(COUNT)
        if draw % 4:
            headers.pop("Idempotency-Key", None)
        if draw % 3 == 0:
            headers["Accept"] = "application/x-ndjson"
    return headers


@schemathesis.hook
def map_body(context, body):
    """Names the model that is there."""
    if context.operation.path.startswith("/compat/vllm/") and isinstance(body, dict) and isinstance(body.get("model"), str):
        if next(COUNT) % 8:
            body["model"] = NAMES["model"]
    return body


@schemathesis.check
def stream_lines_conform(context, response, case):
    """Every line of a stream has the schema that is declared for one."""
    if response.headers.get("content-type", [""])[0].startswith("application/x-ndjson"):
        schema = {"$ref": "#/components/schemas/StreamLine", "components": case.operation.schema.raw_schema["components"]}
        validator = jsonschema.Draft202012Validator(schema)
        for line in response.content.splitlines():
            problem = jsonschema.exceptions.best_match(validator.iter_errors(json.loads(line)))
            assert problem is None, f"a line of the stream does not conform: {problem.message}: {line[:300]}"


@schemathesis.check
def says_when_to_retry(context, response, case):
    """What is busy or not ready says when to come back."""
    if response.status_code in (503, 504):
        assert "retry-after" in response.headers, f"a {response.status_code} has no `Retry-After`"
