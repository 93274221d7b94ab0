#!/bin/bash
# test/run.sh PROGRAM...: runs each test, prints its failures and one line for each program, and
# the sum. A program (or script) prints "ok ...", "not ok ...", "skip ..." lines. One that ends
# non-zero without having said "not ok", or says nothing at all, counts as one failure. Each is
# ended after TEST_SECONDS, which only a hang reaches.
set -u
passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for t in "$@"; do
	start=$(date +%s.%N)
	case $t in
	*.sh) timeout -k 10 "${TEST_SECONDS:-900}" bash "$t" >"$log" 2>&1 ;;
	*) timeout -k 10 "${TEST_SECONDS:-900}" "$t" >"$log" 2>&1 ;;
	esac
	rc=$?
	p=$(grep -c '^ok ' "$log") f=$(grep -c '^not ok ' "$log") s=$(grep -c '^skip ' "$log")
	if { [ $rc -ne 0 ] && [ "$f" -eq 0 ]; } || [ $((p + f + s)) -eq 0 ]; then
		f=$((f + 1))
		echo "not ok $t ended with $rc" >>"$log"
		tail -n 40 "$log"
	elif [ "$f" -ne 0 ]; then
		grep -A3 '^not ok ' "$log" | head -n 60
	fi
	grep '^skip ' "$log"
	printf '%-44s %4d passed %3d failed %3d skipped  %6.1f s\n' "${t##*test/}" "$p" "$f" "$s" \
		"$(echo "$(date +%s.%N) - $start" | bc)"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
