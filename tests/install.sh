#!/bin/sh
# Installs Debian packages for the tests: as root, in CI, or with INSTALL=1. Otherwise it names the
# command.
# usage: install.sh PURPOSE PACKAGE...
set -eu

purpose=$1
shift

if ! command -v apt-get >/dev/null; then
    echo "the tests need $purpose; install it" >&2
    exit 1
fi
if [ "$(id -u)" != 0 ] && [ -z "${CI:-}" ] && [ "${INSTALL:-}" != 1 ]; then
    echo "the tests need $purpose; install it with \`sudo apt-get install --no-install-recommends $*\`," \
        "or let \`INSTALL=1 make test\` do so" >&2
    exit 1
fi

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

echo "installing $purpose: $*" >&2
# Prevents the package of PostgreSQL from creating and starting a server. The tests start their own.
if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    as_root mkdir -p /etc/postgresql-common
    echo "create_main_cluster = false" | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
fi
as_root apt-get update
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    -o Dpkg::Options::=--force-confold "$@"
