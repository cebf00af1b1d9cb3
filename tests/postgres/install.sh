#!/bin/sh
# Installs PostgreSQL from Debian unless it is installed.
set -eu

for initdb in /usr/lib/postgresql/*/bin/initdb "$(command -v initdb || true)"; do
    if [ -x "$initdb" ]; then exit 0; fi
done

exec sh "$(dirname "$0")/../install.sh" "PostgreSQL 14 or later" postgresql
