#!/bin/sh
# Installs PostgreSQL from Debian unless it is installed. Does not start a server, because the tests
# start their own.
set -eu

for initdb in /usr/lib/postgresql/*/bin/initdb "$(command -v initdb || true)"; do
    if [ -x "$initdb" ]; then exit 0; fi
done

if ! command -v apt-get >/dev/null; then
    echo "the tests need PostgreSQL 14 or later; install it so that \`initdb\` is on the path" >&2
    exit 1
fi

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# Prevents the package from creating and starting a server.
if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    as_root mkdir -p /etc/postgresql-common
    echo "create_main_cluster = false" | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
fi
as_root apt-get update
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    -o Dpkg::Options::=--force-confold postgresql
