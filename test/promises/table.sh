#!/bin/bash
# test/promises/table.sh [--write]: what the pages promise, and what holds it. A promise has an id
# in its page ([W7]), a test names the ids that it holds (Holds: W7, W8), and planted.txt has lines
# that break it. Here all that is held to be there, and board/doc/PROMISES.md to be what --write
# writes: each id is one promise's, has a test, and is a promise where a test or planted lines name
# it; planted lines are of a test that names the id, and stand once in their source.
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C.UTF-8
here=test/promises page=board/doc/PROMISES.md
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# A page that promises, and the letter of its ids.
pages=(W:ipc/WIRE.md L:board/doc/LOG.md D:board/doc/DEADLINES.md S:board/doc/SEALED.md
	I:board/doc/IMAGES.md C:board/doc/SCANS.md)
[ ! -f board/doc/STEPS.md ] || pages+=(T:board/doc/STEPS.md)
awk -f $here/promises.awk "${pages[@]#*:}" | sort -V >"$dir/promises"
cut -f 1 "$dir/promises" >"$dir/ids"
# ID TEST of each that a test names
git grep -n -E '^(# |/\* )Holds: ' -- 'test/*.c' 'test/*.sh' |
	sed -E 's|^([^:]*):[0-9]*:.* ?Holds: |\1 |; s| \*/$||; s|,||g' |
	awk '{ for (i = 2; i <= NF; i++) print $i, $1 }' | sort >"$dir/held"
# ID TEST SOURCE of what is planted
awk '/^[A-Z]/ { print $1, $2, $3 }' $here/planted.txt >"$dir/planted"

{
	for p in "${pages[@]}"; do
		awk -F '\t' -v letter="${p%%:*}" -v page="${p#*:}" '$2 == page {
			any = 1
			if (substr($1, 1, 1) != letter)
				print page ": [" $1 "]: an id here begins with " letter
		} END { if (!any) print page ": nothing is promised: no id, [" letter "1]" }' \
			"$dir/promises"
	done
	sort "$dir/ids" | uniq -d | sed 's|$|: an id of two promises|'
	awk 'NR == FNR { held[$1]; next }
		!($1 in held) { print $1 ": no test holds this promise" }' "$dir/held" "$dir/ids"
	awk 'NR == FNR { is[$1]; next }
		!($1 in is) { print $2 ": holds " $1 ", which nobody promises" }' \
		"$dir/ids" "$dir/held"
	awk 'NR == FNR { held[$0]; next } !($1 " " $2 in held) {
		print "planted.txt: " $1 ": " $2 " does not say that it holds it" }' \
		"$dir/held" "$dir/planted"
	while read -r id _ source; do
		awk -v id="$id" -f $here/plant.awk $here/planted.txt "$source" >"$dir/source" ||
			echo "planted.txt: $id: its lines are not in $source, or not once"
	done <"$dir/planted"
} >"$dir/wrong"

{
	cat <<'END'
# Promises, and the test that holds each

For whoever wants to know what is promised and what a promise rests on. This page is made by
`test/promises/table.sh --write`, of the ids in the pages ([W7]) and of those that tests name
(`Holds: W7`). Where *planted* stands behind a promise, `test/promises/planted.sh` has lines that
break it, and the test was seen to fail on them. `.ci/full` plants 40, drawn by a seed. Paths are
those of `test`.
END
	for p in "${pages[@]}"; do
		printf '\n## %s\n\n' "${p#*:}"
		awk -F '\t' -v page="${p#*:}" -v held="$dir/held" -v planted="$dir/planted" '
			BEGIN {
				while ((getline line <held) > 0) {
					split(line, h, " ")
					sub(/^test\//, "", h[2])
					tests[h[1]] = tests[h[1]] ", `" h[2] "`"
				}
				while ((getline line <planted) > 0) {
					split(line, h, " ")
					has[h[1]]
				}
			}
			$2 == page {
				print "- **" $1 "** " $3 " (" substr(tests[$1], 3) \
					($1 in has ? "; planted" : "") ")"
			}' "$dir/promises" | fold -s -w 117 | sed 's/ *$//; /^- /!s/^/  /'
	done
	printf '\n%s promises, %s of them with a planted line.\n' "$(wc -l <"$dir/ids")" \
		"$(cut -d ' ' -f 1 "$dir/planted" | sort -u | wc -l)"
} >"$dir/page"
if [ "${1:-}" = --write ]; then
	cp "$dir/page" $page
elif ! cmp -s "$dir/page" $page; then
	echo "$page is not what is promised: $here/table.sh --write" >>"$dir/wrong"
fi
cat "$dir/wrong"
[ ! -s "$dir/wrong" ]
