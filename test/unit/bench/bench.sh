# test/unit/bench/bench.sh - the programs bench and paper: words, options, rows, JSON
bench=$BUILD/test/bench/bench paper=$BUILD/test/paper/paper
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# ends STATUS WORDS PROGRAM OPTIONS...: exit status, and one line with the words
ends() {
	status=$1 words=$2
	shift 2
	"$@" >"$dir/out" 2>"$dir/err"
	rc=$?
	lines=$(wc -l <"$dir/err")
	[ $status -ne 2 ] || [ "$lines" -eq 1 ] || rc="$rc, $lines lines"
	if [ "$rc" = "$status" ] && grep -q -- "$words" "$dir/out" "$dir/err"; then
		echo "ok ${1##*/} $2 $3: $rc, $words"
	else
		echo "not ok $*: $rc, not '$words': $(head -n 3 "$dir/err")"
	fi
}
ends 0 "usage: bench" "$bench" --help
ends 0 "usage: bench" "$bench" -h
ends 2 "no group 'nothing'" "$bench" nothing
ends 2 "no group 'more'" "$bench" ls more
ends 2 "--seconds '0'" "$bench" --seconds 0
ends 2 "--threads '65'" "$bench" --threads 65
ends 2 "--nothing" "$bench" --nothing
ends 1 "none/rows.json" "$bench" ls --json "$dir/none/rows.json"
ends 0 "usage: paper" "$paper" --help
ends 2 "no command 'nothing'" "$paper" nothing
ends 0 "usage: paper ladder" "$paper" ladder --help
ends 2 "unexpected 'more'" "$paper" ladder more

# two rows in the table and in the file, and nothing of the groups that are run by their words alone
"$bench" --rows 'toeplitz 25*|toeplitz 22*' --seconds 0.01 --json "$dir/rows.json" >"$dir/out" 2>&1
names=$(sed -n 's/^  {"row": "\([^"]*\)", "median_ms": [0-9.]*,.*}[,]*$/\1/p' "$dir/rows.json" |
	tr '\n' ';')
frame=$(head -c 1 "$dir/rows.json")$(tail -n 1 "$dir/rows.json")
if [ "$names" = "toeplitz 256^2 8 coils;toeplitz 220^2;" ] && [ "$frame" = "[]" ] &&
	[ "$(grep -c '^toeplitz 2' "$dir/out")" -eq 2 ] && ! grep -q latency "$dir/out"; then
	echo "ok rows $names"
else
	echo "not ok rows '$names': $(cat "$dir/out")"
fi
"$bench" nufft --rows nothing --json "$dir/none.json" >/dev/null 2>&1
if [ "$(cat "$dir/none.json")" = "[]" ]; then
	echo "ok no row: an empty list"
else
	echo "not ok $(cat "$dir/none.json")"
fi
cd "$dir" || exit 1
ends 0 "small  set aside" "$bench" log --seconds 0.1

# the streams that are compared, in small: no times, but that each image came, and previews: of 440
# those that a frame would have waited for are left out (ipc/WIRE.md), as on a busy machine
export BACKEND=host RATE=20 FRAMES=10 TURNS=1 WARM=2
ends 0 "previews, 1 blocks, [1-9][0-9]* previews" "$bench" previews
ends 0 "ls/host" env METHOD=ls FRAMES=2 "$bench" previews
