#!/bin/sh
# Installs Debian's Chromium and its driver unless both exist. The tests of the operator pages start
# them.
set -eu

if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then exit 0; fi

exec sh "$(dirname "$0")/../install.sh" "Chromium with its driver" \
    chromium chromium-driver fonts-dejavu-core
