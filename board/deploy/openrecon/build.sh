#!/bin/sh
# board/deploy/openrecon/build.sh [TAG] - builds the Open Recon container with docker or podman; its
# label is label.json, checked for being JSON, in base64
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tag=${1:-openrecon_boreside:0.2.0}
for tool in docker podman; do
	command -v $tool >/dev/null 2>&1 && break
	tool=
done
[ -n "$tool" ] || {
	echo "build.sh: neither docker nor podman is here" >&2
	exit 1
}
python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$here/label.json"
label=$(base64 -w 0 "$here/label.json")
exec $tool build -f "$here/Containerfile" --build-arg LABEL="$label" -t "$tag" "$here/../../.."
