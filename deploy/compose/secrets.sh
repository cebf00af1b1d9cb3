#!/bin/sh
# Writes `secrets/postgres-password` and `secrets/assay.toml` with a new password; fails if the
# folder exists. The containers read the files as other users, so the mode of the folder protects
# them, not their own modes.
set -eu

cd "$(dirname "$0")"
if [ -e secrets ]; then
    echo "the folder \`secrets\` already exists" >&2
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
