#!/bin/bash
# test/run.sh PROGRAM...: runs each test, prints its failures and one line for each program, and
# the sum. A program (or script) prints "ok ...", "not ok ...", "skip ..." lines. One that ends
# non-zero without having said "not ok", or says nothing at all, counts as one failure. Each is
# ended after TEST_SECONDS, which only a hang reaches. TEST_JOBS run side by side: one more than
# there are processors, since services mostly wait, and at most 4.
set -u
jobs=${TEST_JOBS:-$(($(nproc) + 1))}
[ "$jobs" -le 4 ] || jobs=4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; wait; exit 130' INT TERM
: >"$dir/counts"
# What a build has just written goes to the disk first: it would hold up the logs of tests.
sync -f . /tmp 2>/dev/null

# One test: its words go to a file of its own and are printed in one piece when it ends.
run() {
	local t=$1 log=$dir/$2 start=$EPOCHREALTIME shell=() rc p f s
	[[ $t != *.sh ]] || shell=(bash)
	timeout -k 10 "${TEST_SECONDS:-900}" "${shell[@]}" "$t" >"$log" 2>&1 &
	# shellcheck disable=SC2064 # this very process
	trap "kill $!; exit 143" TERM
	wait $!
	rc=$?
	p=$(grep -c '^ok ' "$log") f=$(grep -c '^not ok ' "$log") s=$(grep -c '^skip ' "$log")
	{
		flock 9
		if { [ $rc -ne 0 ] && [ "$f" -eq 0 ]; } || [ $((p + f + s)) -eq 0 ]; then
			f=$((f + 1))
			echo "not ok $t ended with $rc" >>"$log"
			tail -n 40 "$log"
		elif [ "$f" -ne 0 ]; then
			grep -A3 '^not ok ' "$log" | head -n 60
		fi
		grep '^skip ' "$log"
		printf '%-44s %4d passed %3d failed %3d skipped  %6.1f s\n' "${t##*test/}" \
			"$p" "$f" "$s" "$(echo "$EPOCHREALTIME - $start" | bc)"
		echo "$p $f $s" >>"$dir/counts"
	} 9>>"$dir/lock"
	rm -f "$log"
}

n=0
for t in "$@"; do
	[ $((n++)) -lt "$jobs" ] || wait -n
	run "$t" $n &
done
wait
awk '{ p += $1; f += $2; s += $3 }
     END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f != 0 }' "$dir/counts"
