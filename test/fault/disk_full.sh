#!/bin/bash
# test/fault/disk_full.sh - a full disk is called that, in the outcome and in the status, and images
# go on being filed once there is room
# Holds: L2
set -u
: "${BORESIDE:?}"
. "$(dirname "$0")/../support/await.bash"
dir=$(mktemp -d /tmp/boreside-full-XXXXXX)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
mkdir out
unshare -rm mount -t tmpfs -o size=64k none out 2>/dev/null ||
	{ echo "skip a full disk: no private mounts here"; exit 0; }
cat >site.cfg <<END
node: { run_dir = "run"; cache_dir = ""; threads = 1; acq_slots = 64; $patient };
endpoints: { archive = ""; viewers = ""; };
sinks = ( { type = "TYPE"; dir = "out"; } );
protocols = ( { name = "p"; method = "cartesian"; matrix = [64, 64]; encoded = [64, 64]; coils = 2;
	samples = 64; readouts = 64; $quiet } );
END
"$BORESIDE" phantom --matrix 64x64 --coils 2 --traj cartesian --repetitions 6 -o scan.h5 >/dev/null

# full TYPE: six images of 16 KiB and more, which 64 KiB do not hold
full() {
	sed -i "s/type = \"[a-zA-Z]*\"/type = \"$1\"/" site.cfg
	"$BORESIDE" serve -c site.cfg 2>log &
	local server=$! rc
	"$BORESIDE" status -c site.cfg $ready
	dd if=/dev/zero of=out/ballast bs=1k count=60 2>/dev/null
	"$BORESIDE" replay -c site.cfg -p p --asap $patience scan.h5 >said 2>&1
	rc=$?
	[ $rc -ne 0 ] && grep -q 'BS_ERR_IO.*No space left on device' said &&
		echo "ok $1: $(grep -o '[0-9]* images were taken by nobody.*' said)" ||
		echo "not ok $1: status $rc, $(cat said)"
	await "$BORESIDE" status -c site.cfg --json |
		grep -q '"refusal":"[^"]*No space left on device' &&
		echo "ok $1: the status says so" ||
			echo "not ok $1: $("$BORESIDE" status -c site.cfg)"
	rm -f out/*
	"$BORESIDE" replay -c site.cfg -p p --limit 64 --asap $patience scan.h5 >said 2>&1 &&
		[ "$(find out -name 'uid*' | wc -l)" -ge 1 ] &&
			echo "ok $1: with room it goes on" ||
		echo "not ok $1: with room: $(cat said)"
	kill $server
	wait $server
	rc=$?
	[ $rc -eq 0 ] && ! grep -q 'signal 11' log && echo "ok $1: nothing crashed" ||
		echo "not ok $1: status $rc, $(cat log)"
	rm -f out/*
}
export -f full await
export BORESIDE ready patience
unshare -rm bash -c 'mount -t tmpfs -o size=64k none out && for t in cfl png mrd; do full $t; done'
