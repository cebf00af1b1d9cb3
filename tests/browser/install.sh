#!/bin/sh
# Installs Debian's Chromium and its driver unless both exist, and the script that checks the
# accessibility of pages. The tests of the operator pages start them.
set -eu

if ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null; then
    sh "$(dirname "$0")/../install.sh" "Chromium with its driver" \
        chromium chromium-driver fonts-dejavu-core
fi

# The version is also in `looks.rs`.
version=4.14.1
checksum=29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c
script=${XDG_CACHE_HOME:-$HOME/.cache}/assay/axe/axe-$version.min.js

if [ -e "$script" ]; then exit 0; fi
if ! command -v npm >/dev/null; then
    sh "$(dirname "$0")/../install.sh" "npm, for axe-core" npm
fi
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"
npm pack --silent --ignore-scripts "axe-core@$version" >/dev/null
tar xzf "axe-core-$version.tgz" package/axe.min.js
echo "$checksum  package/axe.min.js" | sha256sum --check --quiet
mkdir -p "$(dirname "$script")"
mv package/axe.min.js "$script"
