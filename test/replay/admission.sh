#!/bin/bash
# test/replay/admission.sh - what arming measures: a budget that cannot be met and a protocol that
# does not fit are refused by check --measure and by serve, a scan that comes too fast at its
# header; the rest serves. Budgets and intervals here are a million times beyond or within any
# machine's reach.
# Holds: D6, D7
set -u
. "$(dirname "$0")/../support/await.bash"
dir=$(mktemp -d)
server=
trap '[ -n "$server" ] && kill $server 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT
mkdir -p "$dir/run" "$dir/out_"
chmod 750 "$dir/run"
radial() { # radial NAME MATRIX BUDGET MORE: a protocol of 16 spokes
	echo "{ name = \"$1\"; method = \"gridding\"; backend = \"host\"; matrix = [$2, $2];
		coils = 2; samples = 64; readouts = 16; $quiet trajectory: { type = \"radial2d\"; };
		budget: { image_ms = $3; }; $4 }"
}
site() { # site PROTOCOLS MEMORY
	echo "node: { run_dir = \"run\"; cache_dir = \"\"; threads = 1; $patient
		memory_mib = $2; image_slots = 2; acq_slots = 64; };
	sinks = ( { type = \"cfl\"; dir = \"out_\"; } ); protocols = ( $1 );" >"$dir/site.cfg"
}
says() { # says WHAT TEXT FILE
	grep -q -- "$2" "$3" && echo "ok $1: $(grep -m1 -- "$2" "$3" | cut -c1-160)" ||
		echo "not ok $1: no '$2' in $(tail -n 3 "$3")"
}
ends() { # ends STATUS WHAT COMMAND...
	status=$1 what=$2
	shift 2
	"$@" >"$dir/out" 2>"$dir/err"
	rc=$?
	[ $rc -eq "$status" ] && echo "ok $what" ||
		echo "not ok $what: status $rc, $(cat "$dir/out" "$dir/err" | tail -n 3)"
}
ample=$(radial ample 32 1000000.0 "")
tight=$(radial tight 32 0.000001 "")
trusted=$(radial trusted 32 1000000.0 "" |
	sed 's/image_ms = [0-9.]*/image_ms = 0.000001; admission = "trust"/')
fast=$(radial fast 32 1000000.0 "frame: { interval_ms = 0.000001; };")
big="{ name = \"big\"; method = \"gridding\"; backend = \"host\"; matrix = [512, 512]; coils = 32;
	samples = 64; readouts = 16; slices = 64; image: { combine = \"rss\"; };
	trajectory: { type = \"radial2d\"; }; }"

site "$ample" 1024
ends 0 "check --measure: an ample budget" "$BORESIDE" check --measure "$dir/site.cfg"
says "its table" "finish   cold" "$dir/out"
sed 's/^#.*as resolved//' "$dir/out" >"$dir/again.cfg"
ends 0 "what it prints is a site file" "$BORESIDE" check "$dir/again.cfg"
site "$ample, $tight" 1024
ends 0 "check alone does not measure" "$BORESIDE" check "$dir/site.cfg"
ends 1 "check --measure: a nanosecond is refused" "$BORESIDE" check --measure "$dir/site.cfg"
says "with its numbers" \
	"protocol 'tight': budget.image_ms is 1e-06, the estimate .* = receive .* finish" "$dir/err"
ends 2 "check --measure without a file is a usage error" "$BORESIDE" check --measure

site "$ample, $big, $tight, $trusted, $fast" 64
"$BORESIDE" check "$dir/site.cfg" >/dev/null 2>"$dir/err"
says "check refuses what does not fit" "64 MiB are too few for protocol 'big': it needs" "$dir/err"
"$BORESIDE" serve -c "$dir/site.cfg" 2>"$dir/serve.log" &
server=$!
"$BORESIDE" status -c "$dir/site.cfg" $ready &&
	echo "ok the service starts without the refused ones" ||
	echo "not ok the service: $(tail -n 3 "$dir/serve.log")"
await "$BORESIDE" status -c "$dir/site.cfg" --json >"$dir/json"
says "status: armed" '"name":"ample","method":"gridding","armed":true' "$dir/json"
says "status: its estimate" '"estimate":{"image_ms":' "$dir/json"
says "status: refused for its memory" \
	'"name":"big","method":"gridding","armed":false.*"refused":"node.memory_mib: 64 MiB' \
	"$dir/json"
says "status: refused for its budget" \
	'"name":"tight","method":"gridding","armed":false.*"refused":"protocol .tight.' \
	"$dir/json"
await "$BORESIDE" status -c "$dir/site.cfg" >"$dir/text"
says "status for people" "refused  protocol 'tight': budget.image_ms" "$dir/text"
"$BORESIDE" phantom -c "$dir/site.cfg" -p ample --repetitions 2 -o "$dir/scan.h5" >/dev/null
play() { "$BORESIDE" replay -c "$dir/site.cfg" -p "$1" --asap $patience "$dir/scan.h5"; }
ends 1 "a scan of the refused one ends" play tight
says "coded, with the reason" "refused: BS_ERR_BUDGET: protocol 'tight': budget.image_ms" "$dir/out"
ends 1 "a scan of the large one ends" play big
says "coded, with its need" "refused: BS_ERR_NOMEM: node.memory_mib: 64 MiB are too few" "$dir/out"
ends 1 "a scan that comes too fast ends at its header" play fast
says "with both numbers" \
	"refused: BS_ERR_BUDGET: a readout comes every 1e-06 ms (frame.interval_ms)" "$dir/out"
ends 0 "a trusted budget is not judged" play trusted
ends 0 "the rest serves" play ample
kill $server
wait $server
[ $? -eq 0 ] && echo "ok the service ends" || echo "not ok the service's end"
server=
site "$tight" 64
timeout 250 "$BORESIDE" serve -c "$dir/site.cfg" 2>"$dir/serve.log"
case $? in
1) echo "ok nothing but refused protocols: no service" ;;
124) grep -q 'measured again once there is time' "$dir/serve.log" &&
	echo "ok on a busy machine it waits to measure again" ||
	echo "not ok a service without protocols: it does not end" ;;
*) echo "not ok a service without protocols" ;;
esac
