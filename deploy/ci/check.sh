#!/usr/bin/env bash
# Runs `assay check` with the inputs of action.yml, passed as environment variables. Exit status of
# `assay check`: 0 no findings, 1 findings, 2 not checked.
set -euo pipefail

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
assay=${ASSAY:-}
if [ -z "$assay" ] && [ -n "${PACKAGE:-}" ]; then
  environment=$(mktemp -d "${RUNNER_TEMP:-/tmp}/assay.XXXXXX")
  read -r -a packages <<<"$PACKAGE"
  python3 -m venv "$environment" >&2 || exit 2
  "$environment/bin/pip" install --quiet "${packages[@]}" >&2 || exit 2
  assay=$environment/bin/assay
fi
if [ -z "$assay" ]; then
  target=${CARGO_TARGET_DIR:-$repository/target}
  case $target in
  /*) ;;
  *) target=$PWD/$target ;;
  esac
  # Cargo and rustup read the configuration and the toolchain of the directory that they run in.
  # Without them, queries with `sqrt` or `power` are graded differently.
  (cd "$repository" && CARGO_TARGET_DIR=$target cargo build --locked --package assay) >&2 || exit 2
  assay=$target/debug/assay
fi

# Each line of a variable is one argument, including its blanks and quotes.
lines() {
  local line
  while IFS= read -r line || [ -n "$line" ]; do
    line=${line%$'\r'}
    if [ -n "${line//[[:space:]]/}" ]; then
      arguments+=("$line")
    fi
  done <<<"$1"
}

# The SARIF file is that of `--output`, because `--format` would split its path at commas.
formats=sarif,github=/dev/stdout
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
  formats+=,markdown=$GITHUB_STEP_SUMMARY
fi
arguments=(check --format "$formats" --output="$SARIF")
if [ -n "${TEMPLATE:-}" ]; then
  arguments+=(--template "$TEMPLATE")
fi
if [ -n "${BASELINE:-}" ]; then
  arguments+=(--baseline "$BASELINE")
fi
lines "${ARGUMENTS:-}"
arguments+=(--)
lines "$DATASETS"
exec "$assay" "${arguments[@]}"
