#!/bin/bash
# test/replay/serve_log.sh - a service that logs its scans: the log reconstructs to the images that
# were served, in both modes; on a disk that is full the scan goes on unprotected with all its
# images, and is protected again with room
# Holds: L2, L3
set -u
: "${BORESIDE:?}"
. "$(dirname "$0")/../support/await.bash"
dir=$(mktemp -d /tmp/boreside-log-XXXXXX)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
site() { # site MODE DIR
	cat >site.cfg <<END
node: { run_dir = "run"; cache_dir = ""; threads = 1; $patient };
endpoints: { archive = ""; viewers = ""; };
log: { dir = "$2"; mode = "$1"; buffer_mib = 32; };
sinks = ( { type = "cfl"; dir = "out"; } );
protocols = ( { name = "p"; method = "gridding"; matrix = [48, 48]; coils = 3;
    samples = 96; readouts = 60;
	trajectory: { type = "radial2d"; }; $quiet } );
END
}
field() { "$BORESIDE" status -c site.cfg --json | grep -o '"log":{.*' |
	grep -o "\"$1\":[^,}]*" | head -n 1 | cut -d: -f2-; }
site durable logs
"$BORESIDE" phantom -c site.cfg -p p --repetitions 8 --snr 20 -o scan.h5 >/dev/null || exit 1
for mode in durable relaxed; do
	site $mode logs
	# a disk that stands still for half a second makes a scan unprotected, as it is told: again
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		rm -rf out logs again* run
		"$BORESIDE" serve -c site.cfg 2>log &
		server=$!
		"$BORESIDE" status -c site.cfg $ready
		"$BORESIDE" replay -c site.cfg -p p --asap $patience scan.h5 >said 2>&1
		{ grep -q 'bslog lacks\|no log: ' said || [ "$(field lacking)" != 0 ]; } || break
		kill $server
		wait $server
	done
	name=$(grep -o 'log [^ ]*\.bslog' said | cut -d' ' -f2)
	[ -n "$name" ] && [ "$(field mode)" = "\"$mode\"" ] && [ "$(field lacking)" = 0 ] &&
		echo "ok $mode: the outcome and the status name the log" ||
			echo "not ok $mode: $(cat said log)"
	"$BORESIDE" log verify "logs/$name" | grep -q '482 messages, 480 acquisitions.*: whole$' &&
		echo "ok $mode: it is whole" ||
			echo "not ok $mode: $("$BORESIDE" log verify logs 2>&1)"
	[ "$(stat -c %a "logs/$name")" = 640 ] && echo "ok $mode: mode 640" ||
		echo "not ok $mode: $(ls -l logs)"
	kill $server
	wait $server
	"$BORESIDE" recon -c site.cfg -p p "logs/$name" -o again.cfl >log 2>&1
	mapfile -t ours < <(find out -name '*.cfl' | sort)
	theirs=(again.cfl again-*.cfl) # the first one has no number
	n=0
	for i in "${!ours[@]}"; do cmp -s "${ours[$i]}" "${theirs[$i]:-none}" && n=$((n + 1)); done
	[ $n -eq 8 ] && echo "ok $mode: 8 images from the log, the same bytes" ||
		echo "not ok $mode: $n of ${#ours[@]} and ${#theirs[@]} are the same: $(cat log)"
done

site durable missing/logs
"$BORESIDE" check site.cfg 2>err >/dev/null && echo "not ok a folder whose parent is not there" ||
	{ grep -q 'log.dir: .*missing' err && [ ! -e missing ] &&
		echo "ok a mistyped folder is refused, not made" ||
		echo "not ok $(cat err)"; }

full() {
	mount -t tmpfs -o size=150m none logs || return
	rm -rf out
	site durable logs
	"$BORESIDE" serve -c site.cfg 2>log &
	local server=$!
	"$BORESIDE" status -c site.cfg $ready
	until [ -e logs/1.spare ]; do sleep 0.05; done
	dd if=/dev/zero of=logs/ballast bs=1M 2>/dev/null
	rm -f logs/0.spare logs/1.spare
	dd if=/dev/zero of=logs/more bs=1M 2>/dev/null
	"$BORESIDE" replay -c site.cfg -p p --asap $patience scan.h5 >said 2>&1 &&
		grep -q 'images 8,' said && grep -q 'no log: it could not be written' said &&
		grep -q 'acknowledged: .* [0-9]* messages of them in no log$' said &&
		grep -q 'the scan goes on unprotected: .*No space left on device' log &&
		[ "$(field lacking)" -gt 0 ] &&
			echo "ok a full disk: all images, unprotected, and said so" ||
		echo "not ok a full disk: $(cat said; grep ingest log | tail -n 5)"
	rm -f logs/ballast logs/more
	"$BORESIDE" replay -c site.cfg -p p --asap $patience scan.h5 >said 2>&1 &&
		grep -q 'log 2[^ ]*bslog$' said && echo "ok with room the next scan is logged" ||
		echo "not ok with room: $(cat said)"
	kill $server
	wait $server
}
rm -rf logs && mkdir logs
unshare -rm mount -t tmpfs -o size=64k none logs 2>/dev/null ||
	{ echo "skip a full disk: no private mounts here"; exit 0; }
export -f full site field
export BORESIDE ready patience patient quiet
unshare -rm bash -c full
