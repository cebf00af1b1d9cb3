#!/bin/sh
# Installs HAProxy from Debian unless it is installed.
set -eu

if command -v haproxy >/dev/null; then exit 0; fi
exec sh "$(dirname "$0")/../install.sh" HAProxy haproxy
