#!/bin/sh
# Checks the rules and the expressions of the dashboard with promtool: the one on the PATH, or that
# of a Debian package, which is downloaded once into CACHE and compared with its hash.
# usage: check.sh CACHE
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=$1/promtool-2.42.0
pool=http://deb.debian.org/debian/pool/main/p/prometheus
package=$pool/prometheus_2.42.0+ds-5+deb12u1_amd64.deb
hash=81d59a24fce84f7fbe97a45a4f2914b6a5881b5cd1db2a6a0e129e515e1a5f55

promtool=$(command -v promtool || true)
if [ -z "$promtool" ]; then
    promtool=$cache/usr/bin/promtool
    if [ "$(uname -m)" != x86_64 ] && [ ! -x "$promtool" ]; then
        echo "install promtool to check the rules on this processor" >&2
        exit 1
    fi
    if [ ! -x "$promtool" ]; then
        mkdir -p "$cache"
        curl --fail --silent --show-error --location --output "$cache/package.deb" "$package"
        echo "$hash  $cache/package.deb" | sha256sum --check --quiet
        dpkg-deb --fsys-tarfile "$cache/package.deb" | tar -x -C "$cache" ./usr/bin/promtool
        rm "$cache/package.deb"
    fi
fi
# The expressions of the dashboard, and that by which KEDA scales, as rules. JSON is YAML.
expressions=$cache/dashboard.rules.json
mkdir -p "$cache"
python3 - "$here/../grafana/assay.json" "$here/../kubernetes/components/scaling/assay.yaml" \
    >"$expressions" <<'PYTHON'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    panels = json.load(file)["panels"]
expressions = [target["expr"] for panel in panels for target in panel["targets"]]
with open(sys.argv[2], encoding="utf-8") as file:
    # The query is the last value of the file.
    expressions.append(" ".join(file.read().split("query: >-")[1].split()))
rules = [
    {"record": f"dashboard:{number}", "expr": expression.replace("$__rate_interval", "5m")}
    for number, expression in enumerate(expressions)
]
json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, sys.stdout)
PYTHON
"$promtool" check rules "$here/assay.rules.yml" "$expressions"
