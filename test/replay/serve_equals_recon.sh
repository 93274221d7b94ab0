#!/bin/bash
# test/replay/serve_equals_recon.sh - a recording through the service, and through `boreside
# recon` in one process: the same images, bit for bit; a sender that is interrupted and begins
# again
# Holds: C1
set -u
. "$(dirname "$0")/../support/scratch.bash"

cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 2; $patient };
sinks = ( { type = "cfl"; dir = "images"; } );
protocols = (
	{ name = "radial"; method = "gridding"; matrix = [64, 64]; coils = 3; samples = 128;
	  readouts = 101; $quiet image: { output = "complex"; combine = "none"; };
	    trajectory: { type = "radial2d"; }; },
	{ name = "cart"; method = "cartesian"; matrix = [64, 64]; encoded = [128, 64, 1]; coils = 3;
	  samples = 128; readouts = 64; $quiet image: { matrix = [99, 48]; }; } );
CFG
cd "$dir" || exit 1
for p in radial cart; do
	check "$p: a phantom recording of 5 frames" "$BORESIDE" phantom -c site.cfg -p $p \
		--repetitions 5 --snr 20 -o $p.h5
done
starts
images() { ls images/ | grep -c "s00$scan-.*cfl"; }
written() { [ "$(images)" -ge 5 ]; }
scan=0
for p in radial cart; do
	scan=$((scan + 1))
	check "$p: as fast as it goes" "$BORESIDE" replay -c site.cfg --asap $patience -p $p $p.h5
	check "$p: in one process" "$BORESIDE" recon -c site.cfg -p $p $p.h5 -o $p-one.cfl
	await written
	check "$p: the service wrote $(images) images" [ "$(images)" -eq 5 ]
	mapfile -t ours < <(ls images/*s00$scan-*.cfl)
	one=("$p-one.cfl" "$p"-one-*.cfl) # the first one has no number
	for i in 0 1 2 3 4; do
		check "$p: image $((i + 1)) is the same in both, bit for bit" cmp "${ours[$i]}" \
			"${one[$i]}"
	done
done
# A sender that is killed half-way: the service goes on with the next one.
"$BORESIDE" replay -c site.cfg --speed 0.1 -p cart cart.h5 >/dev/null 2>&1 &
sender=$!
half_way() {
	"$BORESIDE" status -c site.cfg --json |
		grep -q '"scan":{"number":3,"open":true[^{]*"acquisitions":[1-9]'
}
await half_way
kill -KILL $sender
wait $sender 2>/dev/null
check "after a sender was killed, another one's scan is good" \
	"$BORESIDE" replay -c site.cfg --asap $patience -p cart cart.h5
ends
