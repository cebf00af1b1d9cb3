#!/usr/bin/env bash
# Runs `assay check` with the inputs of action.yml, passed as environment variables. Exit status of
# `assay check`: 0 no findings, 1 findings, 2 not checked.
set -euo pipefail

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
assay=${ASSAY:-}
if [ -z "$assay" ]; then
  target=${CARGO_TARGET_DIR:-$repository/target}
  CARGO_TARGET_DIR=$target cargo build --locked --package assay \
    --manifest-path "$repository/Cargo.toml" >&2
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

formats=github,sarif=$SARIF
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
  formats+=,markdown=$GITHUB_STEP_SUMMARY
fi
arguments=(check --format "$formats")
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
