"""Imports without optional packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import assay

WITHOUT = """
import sys, types
for name in ("numpy", "pandas", "pyarrow"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["{missing}"] = None
sys.path.insert(0, {source!r})
import {module}
"""


@pytest.mark.parametrize(
    ("module", "missing", "command"),
    [
        ("assay.ray", "ray", "pip install 'ray[data]' numpy"),
        ("assay.spark", "pyspark", "pip install pyspark pandas pyarrow"),
    ],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    module: str, missing: str, command: str
) -> None:
    source = str(Path(assay.__file__).parents[1])
    code = WITHOUT.format(missing=missing, source=source, module=module)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = ran.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: `{module}` needs "), ran.stderr
    assert missing in last
    assert f"`{command}`" in last
