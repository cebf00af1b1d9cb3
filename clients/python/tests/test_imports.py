"""Imports without optional packages."""

from __future__ import annotations

import importlib
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "missing", "command"),
    [
        ("assay.ray", "ray", "pip install 'ray[data]' numpy"),
        ("assay.spark", "pyspark", "pip install pyspark pandas pyarrow"),
    ],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, module: str, missing: str, command: str
) -> None:
    monkeypatch.delitem(sys.modules, module, raising=False)
    for name in ("numpy", "pandas", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, sys.modules.get(name) or type(sys)(name))
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError) as error:
        importlib.import_module(module)
    assert f"`{command}`" in str(error.value)
    assert missing in str(error.value)
