#!/bin/sh
# Writes `secrets/postgres-password` and `secrets/assay.toml` with a new password. Does not replace
# them. The containers read them as other users, so the folder protects them, not their modes.
set -eu

cd "$(dirname "$0")"
if [ -e secrets ]; then
    echo "the folder \`secrets\` exists" >&2
    exit 1
fi
mkdir -m 700 secrets
umask 022
password=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
printf %s "$password" >secrets/postgres-password
cat >secrets/assay.toml <<TOML
[store]
database = "postgres://assay:$password@postgres/assay"
TOML
