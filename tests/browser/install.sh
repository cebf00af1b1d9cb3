#!/bin/sh
# Installs Debian's Chromium and its driver unless both exist. The tests of the operator pages start
# them.
set -eu

if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then exit 0; fi

if ! command -v apt-get >/dev/null; then
    echo "the tests need Chromium and its driver: install both so that \`chromium\` and \`chromedriver\` are on the path" >&2
    exit 1
fi

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

as_root apt-get update
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    chromium chromium-driver fonts-dejavu-core
