#!/bin/bash
# test/unit/board/openrecon.sh - the Open Recon container's label and site agree: the port, and each
# choice of the label's config is a protocol of the site or a row of its configs. No container is
# built here.
set -u
here=$(cd "$(dirname "$0")/../../.." && pwd)
from=$here/board/deploy/openrecon
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
sed "s|/run/boreside|$dir/run|; s|/var/cache/boreside|$dir/cache|; s|/var/lib|$dir/lib|" \
	"$from/site.cfg" >"$dir/site.cfg"
mkdir -p "$dir/lib/boreside"
if "$BORESIDE" check "$dir/site.cfg" >"$dir/resolved" 2>"$dir/err"; then
	echo "ok the container's site is valid"
else
	echo "not ok the container's site: $(head -n 3 "$dir/err")"
fi
python3 -c '' 2>/dev/null || {
	echo "skip the label: no python3 here to read it"
	exit 0
}
python3 - "$from/label.json" "$from/site.cfg" "$here/core/version.h" <<'PY'
import json
import re
import sys

label = json.load(open(sys.argv[1]))
site = open(sys.argv[2]).read()
version = re.search(r'BS_VERSION "(.*)"', open(sys.argv[3]).read()).group(1)


def check(good, words):
    print(("ok " if good else "not ok ") + words)


config = [p for p in label["parameters"] if p["id"] == "config"]
names = re.findall(r'name = "(\w+)"', site.replace('name = "openrecon"', "", 1))
choices = [v["id"] for v in config[0]["values"]] if len(config) == 1 else []
check(label["general"]["version"] == version, "the label's version is the program's")
check(f':{label["reconstruction"]["port"]}"' in site, "the site listens on the label's port")
check(len(choices) > 0 and set(choices) <= set(names), f"each choice {choices} is in {names}")
check(config[0]["default"] in choices, "the default is a choice")
check(label["reconstruction"]["transfer_protocol"]["protocol"] == "ISMRMRD", "the protocol")
PY
