#!/bin/bash
# test/simulate/planted/planted.sh - defects that were cured are put back, one at a time, into a
# copy of the tree: the simulator finds each. A patch says what its defect was; one that does not
# apply any more fails, and is written anew against the code as it is.
# usage: planted.sh [SCHEDULES]   so many are run at most (100000), from seed 1 on, or from the seed
# that a patch names for a defect that few schedules have
set -u
cd "$(dirname "$0")/../../.." || exit 1
most=${1:-100000} step=1000 here=test/simulate/planted root=$PWD
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
git ls-files -z | tar --null -T - -c | tar -x -C "$dir"
cd "$dir" || exit 1
program=build/gcc-gpu0/test/simulate/simulate
build() { make CC=gcc GPU=0 -j"$(nproc)" $program >make.txt 2>&1; }

# Returns 0 and sets found to the first words of a violation, and tried, if one is found.
find_it() {
	for ((tried = 0; tried < most; tried += step)); do
		"$program" --schedules $step --first $((tried + ${first:-1})) --jobs "$(nproc)" \
			>said.txt 2>&1 && continue
		found=$(grep -m 1 '^# seed [0-9]*: ' said.txt)
		return 0
	done
	return 1
}

failed=0
say() { # say ok|not WORDS...
	[ "$1" = ok ] || failed=1
	echo "${1/not/not ok}" "${@:2}"
}
if ! build; then
	tail -n 20 make.txt
	say not "the tree is built"
	exit 1
fi
for patch in "$root/$here"/*.patch; do
	name=$(basename "$patch" .patch)
	first=$(sed -n 's/^First seed: //p' "$patch")
	if ! git apply "$patch"; then
		say not "$name: the patch does not apply any more"
		continue
	fi
	if ! build; then
		tail -n 20 make.txt
		say not "$name: what has the defect is built"
	elif find_it && [ -n "$found" ]; then
		say ok "$name: found within $((tried + step)) schedules: ${found#\# }"
	else
		say not "$name: not found in $tried schedules"
	fi
	git apply -R "$patch"
done
exit $failed
