"""A trial driver: runs one program and gives back what it printed."""

import io
import json
import sys
import traceback
import types

from _assay_host import exchange

host_exchange = exchange


def handle(request):
    task = json.loads(request)
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    kept = sys.stdin, sys.stdout, sys.stderr
    out, err = io.StringIO(), io.StringIO()
    if task.get("stdin") is not None:
        sys.stdin = io.TextIOWrapper(io.BytesIO(task["stdin"].encode()), encoding="utf-8")
    sys.stdout, sys.stderr = out, err
    ok = True
    try:
        exec(compile(task["code"], "main.py", "exec"), module.__dict__)
    except SystemExit as stopped:
        ok = stopped.code in (None, 0)
    except BaseException as raised:
        ok = False
        traceback.print_exception(raised, file=err)
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept
    return json.dumps({"ok": ok, "stdout": out.getvalue(), "stderr": err.getvalue()}).encode()
