#!/bin/sh
# test/coverage.sh BUILD OBJECTS ROOM...: gcov's figures of each source of the rooms, the rooms'
# sums and all. Branches: those that were taken at least once. A source that nothing ran counts as
# 0.
set -eu
build=$1 objects=$2
shift 2
for room in "$@"; do
	find "$build/$room" "$objects/$room" -name '*.gcno' 2>/dev/null | sort |
		while read -r note; do
		gcov --no-output --branch-probabilities --object-directory "${note%/*}" \
			"${note%.gcno}.o" 2>/dev/null | awk -v source="${note#"$build/"}" \
			-v objects="$objects/" -v root="$PWD/" -v room="$room" '
			BEGIN {
				sub("^" objects, "", source)
				sub("gcno$", "c", source)
			}
			/^File/ {
				mine = $0 == "File '\''" root source "'\''" ||
					$0 == "File '\''" source "'\''"
			}
			mine && /^Lines executed/ {
				lines = $NF
				sub(".*:", "")
				line_hits = $1 / 100 * lines
			}
			mine && /^Taken at least once/ {
				branches = $NF
				sub(".*:", "")
				hits = $1 / 100 * branches
			}
			END {
				print room, source, line_hits + 0, lines + 0, hits + 0, branches + 0
			}'
	done
done | awk '
	function row(name, lh, l, bh, b) {
		printf "%-40s %6d lines %6.1f %% %6d branches %6.1f %%\n", name, l,
			l ? 100 * lh / l : 100, b, b ? 100 * bh / b : 100
	}
	{
		row($2, $3, $4, $5, $6)
		for (i = 3; i <= 6; i++) { sum[$1, i] += $i; all[i] += $i }
		rooms[$1]
	}
	END {
		for (r in rooms) row(r "/", sum[r, 3], sum[r, 4], sum[r, 5], sum[r, 6])
		row("all", all[3], all[4], all[5], all[6])
	}'
