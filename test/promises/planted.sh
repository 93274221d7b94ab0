#!/bin/bash
# test/promises/planted.sh [-s SEED] [-n N] [ID...]: promises are broken by the lines of
# planted.txt, one at a time, in a copy of the tree, and the test that holds each must fail. Of all
# N are drawn (40) by the seed, which is printed; IDs: these. Minutes: .ci/full runs it.
# BUILT: a folder with a tree that is built already, which is changed; without it one is made.
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$PWD list=$PWD/test/promises/planted.txt plant=$PWD/test/promises/plant.awk
seed=$RANDOM most=40
while getopts s:n: option; do
	case $option in
	s) seed=$OPTARG ;;
	n) most=$OPTARG ;;
	*) sed -n '2,5s/^# //p' "$0"; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
tree=${BUILT:-$dir}
[ -n "${BUILT:-}" ] || git ls-files -z | tar --null -T - -c | tar -x -C "$tree"
cd "$tree" || exit 1
built=build/gcc-gpu0
build() { make CC=gcc GPU=0 -j"$(nproc)" "$@" >"$dir/make.txt" 2>&1; }
failed=0
say() { # say ok|not WORDS...
	[ "$1" = ok ] || failed=1
	echo "${1/not/not ok}" "${@:2}"
}
# fails TEST: 0 when it does; it is ended at its first "not ok"
fails() {
	local shell=() pid found=1
	[[ $1 != *.sh ]] || shell=(bash)
	BORESIDE=$PWD/$built/boreside BUILD=$PWD/$built DATA=${DATA:-$root/../shared/data} \
		setsid timeout -k 10 900 "${shell[@]}" "$1" >"$dir/said.txt" 2>&1 &
	pid=$!
	while kill -0 $pid 2>/dev/null && [ $found -ne 0 ]; do
		sleep 0.2
		! grep -q '^not ok' "$dir/said.txt" || found=0
	done
	[ $found -ne 0 ] || kill -TERM -- -$pid 2>/dev/null
	wait $pid || found=0
	return $found
}
if ! build all tests; then
	tail -n 20 "$dir/make.txt"
	say not "the tree is built"
	exit 1
fi
ids=("$@")
if [ $# -eq 0 ]; then
	mapfile -t ids < <(sed -n 's/^\([A-Z][0-9]*\) .*/\1/p' "$list" | while read -r id; do
		echo "$(echo "$seed $id" | sha256sum | cut -c 1-16) $id"
	done | sort | head -n "$most" | cut -d ' ' -f 2)
	echo "# seed $seed: ${ids[*]}"
fi
for id in "${ids[@]}"; do
	read -r _ test source < <(grep "^$id " "$list")
	case $test in
	*.c) target=$built/${test%.c} make=("$target") ;;
	*) target=$test make=() ;;
	esac
	case $source in drivers/step/*/*.c) make+=("$built/${source%.c}") ;; esac # a program
	cp "$source" "$dir/source"
	# what is planted may leave a name without a use
	if ! awk -v id="$id" -f "$plant" "$list" "$dir/source" >"$source"; then
		say not "$id: its lines are not in $source, or not once"
	elif ! build WARN= all "${make[@]}"; then
		tail -n 20 "$dir/make.txt"
		say not "$id: $source with it is built"
	elif fails "$target"; then
		say ok "$id: $test fails: $(grep -m 1 '^not ok' "$dir/said.txt")"
	else
		say not "$id: $test passes although $source breaks the promise"
	fi
	cp "$dir/source" "$source"
	touch "$source"
done
exit $failed
