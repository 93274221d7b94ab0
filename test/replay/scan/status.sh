#!/bin/bash
# test/replay/scan/status.sh - two services that take the same scans say the same of themselves but
# for what mask.sed hides: lines, document, latencies, metrics, before, between and after the scans.
# Another program takes the place of the second where OTHER names it: the one before a change.
set -u
cd "$(dirname "$0")/../../.." || exit 1
mask=$PWD/test/replay/scan/mask.sed
. test/support/scratch.bash
cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 1; $patient };
endpoints: { images = "ipc://run/images.ipc"; archive = ""; viewers = ""; };
log: { dir = "logs"; mode = "relaxed"; };
sinks = ( { type = "cfl"; dir = "images"; } );
protocols = (
	{ name = "cart"; method = "cartesian"; matrix = [32, 32]; encoded = [64, 32, 1];
	  coils = 2; samples = 64; readouts = 32; $quiet
	  budget: { image_ms = 600000.0; emit_ms = 600000.0; admission = "trust"; }; },
	{ name = "radial"; method = "gridding"; matrix = [24, 24]; coils = 2; samples = 48;
	  readouts = 30; trajectory: { type = "radial2d"; }; $quiet },
	{ name = "ls"; method = "ls"; matrix = [16, 16]; coils = 1; samples = 32; readouts = 20;
	  trajectory: { type = "radial2d"; }; $quiet } );
CFG
cd "$dir" || exit 1
for p in cart radial; do
	"$BORESIDE" phantom -c site.cfg -p $p --repetitions 3 -o $p.h5 >>out.txt 2>&1
done
settled() { # every image has been handed on, the log is written
	"$BORESIDE" status -c site.cfg --json >now.txt &&
		grep -q '"state":"idle"' now.txt &&
		! grep -q '"\(waiting\|peers\)":[1-9]' now.txt &&
		! grep -q '"log":.*"waiting_bytes":[1-9]' now.txt &&
		grep -q "\"consumer\":\"images\".*\"handed\":$1" now.txt
}
say() { # say WHICH WHEN: all documents, masked
	for how in "" --json --latency "--latency --json" --metrics; do
		echo "== $2 $how"
		"$BORESIDE" status -c site.cfg $how | sed -E -f "$mask"
	done >>"said.$1"
}
run() { # run WHICH PROGRAM; again where the machine stood still so long that a warning says so
	rm -rf run cache logs images "said.$1"
	"$2" serve -c site.cfg 2>log.txt &
	serve=$!
	"$BORESIDE" status -c site.cfg $ready >>out.txt 2>&1
	await settled 0 && say "$1" before
	"$BORESIDE" replay -c site.cfg --asap $patience -p cart cart.h5 >>out.txt 2>&1
	await settled 3 && say "$1" between
	"$BORESIDE" replay -c site.cfg --asap $patience -p radial radial.h5 >>out.txt 2>&1
	await settled 6 && say "$1" after
	ends
	! grep -q '"errors":\["' "said.$1"
}
await run one "$BORESIDE"
await run two "${OTHER:-$BORESIDE}"
check "a service says all of it ($(wc -l <said.one) lines)" \
	[ "$(grep -c 'boreside_images_total [036]' said.one)" -eq 3 ]
check "another one says the same of the same scans" cmp said.one said.two
diff <(tr ',' '\n' <said.one) <(tr ',' '\n' <said.two) | head -n 20 | sed 's|^|# |'
