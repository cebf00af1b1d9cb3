#!/usr/bin/env python3
"""Renders the chart into the manifests of the kustomize base and of its components.

usage: render.py [--helm HELM] [--check]

With `--check`, writes nothing and fails if a manifest is not what the chart renders.
"""

import argparse
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
NOTE = "# Rendered from the chart by render.py; do not edit.\n"

# What is rendered with which values and templates; with no templates, all.
MANIFESTS = {
    "base/assay.yaml": ([], []),
    "components/monitoring/assay.yaml": (["monitoring.enabled=true"], ["monitoring"]),
    "components/scaling/assay.yaml": (["scaling.enabled=true"], ["scaling"]),
}


def template(helm, settings=(), templates=(), chart=HERE / "chart"):
    """What `helm template` prints, without notes about sources and blanks at ends of lines."""
    command = [helm, "template", "assay", str(chart), "--namespace", "assay"]
    for setting in settings:
        command += ["--set-json" if "=[" in setting else "--set", setting]
    for name in templates:
        command += ["--show-only", f"templates/{name}.yaml"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = (line.rstrip() for line in text.splitlines() if not line.startswith("# Source: "))
    return "".join(f"{line}\n" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--helm", default="helm")
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    stale = []
    for name, (settings, templates) in MANIFESTS.items():
        path, text = HERE / name, NOTE + template(asked.helm, settings, templates)
        if not asked.check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(name)
    if stale:
        sys.exit(f"not what the chart renders: {', '.join(stale)}; run deploy/kubernetes/render.py")


if __name__ == "__main__":
    main()
