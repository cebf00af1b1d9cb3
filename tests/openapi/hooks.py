"""Makes generated requests refer to stored rows, and adds checks that the test client lacks."""

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
    """Replaces three of four generated names with the name of a stored row of the same kind."""
    if not isinstance(value, str) or zlib.crc32(value.encode("utf-8", "surrogatepass")) % 4 == 0:
        return value
    if name == "id" and ID.fullmatch(value):
        return (
            NAMES["check"]
            if "/checks/" in path
            else NAMES["grades"][ord(value[-1]) % len(NAMES["grades"])]
        )
    return {"name": "default" if "/policies/" in path else NAMES["model"], "run": NAMES["run"]}.get(
        name, value
    )


@schemathesis.serializer("application/x-ndjson")
def one_line(context, value):
    """A body of one line, which the document describes."""
    return value if isinstance(value, bytes) else json.dumps(value).encode() + b"\n"


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Makes most requests find a row, and prevents requests from replacing or unloading the
    model.
    """
    operation = context.operation
    if not path_parameters:
        return path_parameters
    if operation.method.upper() in ("PUT", "DELETE"):
        return {
            name: f"{value}2" if value == NAMES["model"] else value
            for name, value in path_parameters.items()
        }
    return {name: stored(operation.path, name, value) for name, value in path_parameters.items()}


@schemathesis.hook
def map_query(context, query):
    """Uses the channel that has grades."""
    if context.operation.path == "/v1/channels/compare" and query and next(COUNT) % 4:
        return {
            name: "math/default"
            if name in ("first", "second") and isinstance(value, str)
            else value
            for name, value in query.items()
        }
    return query


@schemathesis.hook
def map_headers(context, headers):
    """Requests a stream now and then, and keeps only few idempotency keys, since reusing a key with
    another body is an error.
    """
    if context.operation.path == "/v1/grade" and headers is not None:
        draw = next(COUNT)
        if draw % 4:
            headers.pop("Idempotency-Key", None)
        if draw % 3 == 0:
            headers["Accept"] = "application/x-ndjson"
    return headers


def shared_names(value):
    """Names in references to shared values."""
    if isinstance(value, list):
        for part in value:
            yield from shared_names(part)
    elif isinstance(value, dict):
        if isinstance(value.get("$shared"), str):
            yield value["$shared"]
        for part in value.values():
            yield from shared_names(part)


@schemathesis.hook
def map_body(context, body):
    """Uses the loaded model, and shared values that the request contains, in most requests."""
    if context.operation.path == "/v1/grade" and isinstance(body, dict) and next(COUNT) % 8:
        shared = body.get("shared", {})
        if isinstance(shared, dict):
            missing = {name: {} for name in shared_names(body.get("items"))}
            body["shared"] = {**missing, **shared}
    if (
        context.operation.path.startswith("/compat/vllm/")
        and isinstance(body, dict)
        and isinstance(body.get("model"), str)
    ):
        if next(COUNT) % 8:
            body["model"] = NAMES["model"]
    return body


@schemathesis.check
def stream_lines_conform(context, response, case):
    """Every line of a stream conforms to its declared schema."""
    if response.headers.get("content-type", [""])[0].startswith("application/x-ndjson"):
        schema = {
            "$ref": "#/components/schemas/StreamLine",
            "components": case.operation.schema.raw_schema["components"],
        }
        validator = jsonschema.Draft202012Validator(schema)
        for line in response.content.splitlines():
            problem = jsonschema.exceptions.best_match(validator.iter_errors(json.loads(line)))
            assert problem is None, (
                f"a line of the stream does not conform: {problem.message}: {line[:300]}"
            )


@schemathesis.check
def says_when_to_retry(context, response, case):
    """A 503 or 504 has a `Retry-After` header."""
    if response.status_code in (503, 504):
        assert "retry-after" in response.headers, f"a {response.status_code} has no `Retry-After`"
