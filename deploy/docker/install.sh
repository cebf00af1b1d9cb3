#!/bin/sh
# Installs the wheels of a folder into a prefix, without their Python code, and compiles their
# images.
#
# usage: install.sh WHEELS PREFIX
set -eu

wheels=$1
prefix=$2
environment=$(mktemp -d)
python3 -m venv "$environment"
for wheel in "$wheels"/assay_rewards-*-manylinux*.whl "$wheels"/assay_rewards_*.whl; do
  if [ -e "$wheel" ]; then
    "$environment/bin/pip" install --quiet --no-index --no-deps "$wheel"
  fi
done
mkdir -p "$prefix/bin" "$prefix/share"
cp "$environment/bin/assay" "$prefix/bin/"
cp -R "$environment/share/assay" "$environment/share/man" "$prefix/share/"
rm -r "$environment"
ASSAY_SANDBOX_WORKERS_IMAGES=$prefix/images "$prefix/bin/assay" images --compile
# The service runs as another user.
chmod -R a+rX "$prefix"
