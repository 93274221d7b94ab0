#!/bin/sh
# test/coverage.sh BUILD OBJECTS ROOM...: gcov's figures of each source of the rooms, the rooms'
# sums and all. Branches: those that were taken at least once. A source that nothing ran counts as
# 0. What the simulator runs is built twice (BUILD/stepped): a line or branch counts when either
# build ran it.
set -eu
build=$1 objects=$2
shift 2

# figures ROOM SOURCE NOTE...: lines that ran, lines, branches that were taken, branches
figures() {
	room=$1 source=$2
	shift 2
	for note; do
		gcov --stdout --branch-probabilities --branch-counts \
			--object-directory "${note%/*}" "${note%.gcno}.o" 2>/dev/null
	done | awk -v room="$room" -v source="$source" -v root="$PWD/" '
		/^ *-: *0:Source:/ {
			sub(".*0:Source:", "")
			mine = $0 == source || $0 == root source
		}
		!mine { next }
		/^ *([0-9]+\*?|#####|=====): *[0-9]+:/ {
			split($0, part, ":")
			line = part[2] + 0
			all += !(line in lines)
			lines[line]
			if (part[1] ~ /[0-9]/) ran += !(line in hit)
			if (part[1] ~ /[0-9]/) hit[line]
			at = 0
		}
		/^branch/ {
			ways += !((line, ++at) in way)
			way[line, at]
			if ($3 == "taken" && $4 > 0) {
				taken += !((line, at) in took)
				took[line, at]
			}
		}
		END { print room, source, ran + 0, all + 0, taken + 0, ways + 0 }'
}

for room in "$@"; do
	find "$build/$room" "$objects/$room" -name '*.gcno' 2>/dev/null | sort |
		while read -r note; do
		source=${note#"$build/"}
		source=${source#"$objects/"}
		source=${source%gcno}c
		stepped=$build/stepped/${source%c}gcno
		[ -e "$stepped" ] || stepped=
		figures "$room" "$source" "$note" ${stepped:+"$stepped"}
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
