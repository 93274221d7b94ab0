#!/bin/bash
# test/fault/disk/limits.sh - limits of the process: too small a stack and too few descriptors are
# refused at the start, with the remedy; a limit of files' sizes is a full disk, and the service
# lives
set -u
: "${BORESIDE:?}"
. "$(dirname "$0")/../../support/await.bash"
dir=$(mktemp -d /tmp/boreside-limits-XXXXXX)
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
cat >site.cfg <<END
node: { run_dir = "run"; cache_dir = ""; threads = 1; $patient };
endpoints: { archive = ""; viewers = ""; };
sinks = ( { type = "cfl"; dir = "out"; } );
log: { dir = "logs"; };
protocols = ( { name = "p"; method = "cartesian"; matrix = [64, 64]; encoded = [64, 64]; coils = 2;
	samples = 64; readouts = 64; $quiet } );
END
"$BORESIDE" phantom --matrix 64x64 --coils 2 --traj cartesian --repetitions 6 -o scan.h5 >/dev/null
(
	ulimit -S -s 256
	timeout 120 "$BORESIDE" serve -c site.cfg >said 2>&1
) && echo "not ok it starts with stacks of 256 KiB" || echo "ok stacks of 256 KiB are refused"
grep -q 'stack may have 256 KiB.*ulimit -s 8192' said && echo "ok with the remedy" ||
	echo "not ok $(cat said)"

(
	ulimit -n 24
	timeout 120 "$BORESIDE" serve -c site.cfg >said 2>&1
) && echo "not ok it starts with 24 descriptors" || echo "ok 24 descriptors are refused"
grep -q 'may open 24 files here, .*ulimit -n 4096' said && echo "ok with the remedy" ||
	echo "not ok $(cat said)"

(
	ulimit -S -f 8
	"$BORESIDE" serve -c site.cfg >said 2>&1
)
grep -q 'no file may be larger than 8 KiB.*ulimit -f unlimited' said &&
	grep -q 'shared memory of .*: File too large' said &&
	echo "ok a limit that the start meets is said" || echo "not ok $(cat said)"

command -v prlimit >/dev/null || { echo "skip a limit in a scan: no prlimit here"; exit 0; }
"$BORESIDE" serve -c site.cfg >log 2>&1 &
server=$!
"$BORESIDE" status -c site.cfg $ready
for pid in $(cat /proc/$server/task/*/children); do
	prlimit --pid "$pid" --fsize=8192:
done
"$BORESIDE" replay -c site.cfg -p p --asap $patience scan.h5 >said 2>&1
grep -q 'images were taken by nobody.*File too large' said &&
	echo "ok an image that is larger meets a full disk" || echo "not ok $(cat said log)"
kill $server
wait $server && ! grep -q 'died' log && echo "ok nobody died of it" || echo "not ok $(cat log)"
