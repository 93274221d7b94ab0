#!/bin/bash
# test/replay/command.sh - boreside replay against the real service: outcomes and exit statuses
set -u
: "${BORESIDE:?}" "${DATA:=}"
. "$(dirname "$0")/../support/await.bash"
recording=$DATA/cart2d_8ch.h5
[ -f "$recording" ] || { echo "skip $recording is not here"; exit 0; }
dir=$(mktemp -d) service=
cleanup() {
	[ -z "$service" ] || { kill "$service" 2>/dev/null; wait "$service" 2>/dev/null; }
	rm -rf "$dir"
}
trap cleanup EXIT
mkdir "$dir/run" "$dir/cache" "$dir/out"
cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; $patient };
sinks = ( { type = "cfl"; dir = "out"; } );
protocols = ( { name = "cart2d"; method = "cartesian"; matrix = [256, 256]; encoded = [512, 256];
	coils = 8; samples = 512; readouts = 256; $quiet } );
CFG

# expect STATUS WORDS WHAT ARGUMENTS...: runs replay, holds its exit status and output against these
expect() {
	local want=$1 words=$2 what=$3 got
	shift 3
	"$BORESIDE" replay "$@" >"$dir/log" 2>&1
	got=$?
	if [ $got -eq "$want" ] && grep -q -e "$words" "$dir/log"; then
		echo "ok $what"
	else
		echo "not ok $what: exit status $got, not $want, or no '$words' in:" \
			"$(tr '\n' '|' <"$dir/log")"
	fi
}
site="-c $dir/site.cfg -p cart2d"

expect 2 "RECORDING is missing" "no arguments: usage"
expect 2 "either -c" "an endpoint twice: usage" -c "$dir/site.cfg" --url ipc:///tmp/x "$recording"
expect 2 "exclude each other" "a pace twice: usage" $site --asap --speed 2 "$recording"
expect 2 speed "a speed of 0" $site --speed 0 "$recording"
expect 2 session "session 0" $site --session 0 "$recording"
expect 1 'No such file' "no recording" $site "$dir/none.h5"
expect 1 'ipc:// or tcp://' "no such transport" --url ws://127.0.0.1:1 "$recording"
expect 1 BS_ERR_TIMEOUT "no service" $site --patience 0.3 "$recording"

"$BORESIDE" serve -c "$dir/site.cfg" >"$dir/serve.log" 2>&1 &
service=$!
"$BORESIDE" status -c "$dir/site.cfg" $ready ||
	echo "not ok the service starts: $(tail -n 3 "$dir/serve.log")"
site="$site $patience"
expect 0 'acquisitions 769, images 3, gaps 0, duplicates 0, rejected 0' "as fast as it goes" \
	$site --asap "$recording"
expect 0 'session 00000000000000ff' "three scans, numbered" $site --asap --loop 3 --session 0xfd \
	"$recording"
expect 0 'sampling times' "ten times its own pace" $site --speed 10 "$recording"
expect 1 'refused: BS_ERR_PROTOCOL' "an unknown protocol" $patience -c "$dir/site.cfg" -p none \
	"$recording"
expect 1 'outcome: BS_ERR_LENGTH' "a scan that ends half-way" $site --asap --limit 300 "$recording"
expect 0 'outcome: BS_OK' "and a good one after that" $site --asap "$recording"

half_way() { # the first readout is noise, and of a scan of none else no image is missed
	"$BORESIDE" status -c "$dir/site.cfg" --json |
		grep -q '"open":true[^{]*"cart2d"[^{]*"acquisitions":\([2-9]\|[1-9][0-9]\)'
}
"$BORESIDE" replay $site --speed 0.1 "$recording" >"$dir/stopped" 2>&1 &
player=$!
await half_way
kill -INT $player
wait $player
if grep -q 'outcome: BS_ERR_LENGTH' "$dir/stopped"; then
	echo "ok interrupted, it closes the scan and waits for the outcome"
else
	echo "not ok interrupted: $(tr '\n' '|' <"$dir/stopped")"
fi
