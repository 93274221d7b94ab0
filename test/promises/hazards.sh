#!/bin/bash
# test/promises/hazards.sh: what pages point at is there. Every path in backticks of the pages below
# that begins with a folder of the tree, and every promise that HAZARDS.md names; each of its
# hazards' causes has a source, and a test. .ci/limits runs it.
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C.UTF-8
pages=(board/doc/HAZARDS.md drivers/sink/DICOM.md board/doc/SITE.md test/ATTACK.md
	board/doc/PROMISES.md)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# shellcheck disable=SC2016 # backticks of the pages
grep -o -H '`[a-z.]*/[A-Za-z0-9_./-]*`' "${pages[@]}" | tr -d '`' | sort -u |
	while IFS=: read -r page path; do
		case $path in
		core/* | config/* | ipc/* | drivers/* | gpu/* | board/* | test/* | .ci/*)
			[ -e "$path" ] || echo "$page: $path is not there"
			;;
		esac
	done >"$dir/wrong"
page=board/doc/HAZARDS.md
awk -f test/promises/promises.awk ipc/*.md board/doc/*.md | cut -f 1 >"$dir/ids"
# each item in one line: a cause
awk '/^- / { if (item) print item; item = $0; next }
	/^  / && item { sub(/^ +/, ""); item = item " " $0; next }
	{ if (item) print item; item = "" }
	END { if (item) print item }' $page >"$dir/causes"
while read -r cause; do
	grep -qE '\(.*`(core|config|ipc|drivers|gpu|board)/[^`]*`.*\)\. Held by ' <<<"$cause" ||
		echo "$page: no source: ${cause:0:60}"
	grep -qE 'Held by .*`test/[^`]*\.(c|sh)`\.$' <<<"$cause" ||
		echo "$page: no test: ${cause:0:60}"
	{ grep -oE '\b[A-Z][0-9]+\b' <<<"${cause##*Held by}" || true; } | while read -r id; do
		grep -qx "$id" "$dir/ids" || echo "$page: $id is no promise"
	done
done <"$dir/causes" >>"$dir/wrong"
[ "$(grep -c '^## ' $page)" -ge 9 ] || echo "$page: fewer than nine hazards" >>"$dir/wrong"
cat "$dir/wrong"
[ ! -s "$dir/wrong" ]
