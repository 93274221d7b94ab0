#!/bin/bash
# test/replay/scan/maps.sh - sensitivities made from the scan: the service and `boreside recon` give
# the same bytes, for each slice from its own calibration, on the grid and from a trajectory's
# central samples, also while a window slides; a combination by them is one by the maps of BART from
# the same lines, and SENSE with them is as good as with the true ones
set -u
. "$(dirname "$0")/scans.bash"
small='matrix = [32, 37, 1]; coils = 6; readouts = 37; slices = 3;'
prisma='method = "cartesian"; matrix = [64, 64, 1]; encoded = [128, 64, 1]; coils = 20;
  samples = 128; readouts = 64; contrasts = 2;'
spokes='matrix = [48, 48]; coils = 6; samples = 96; trajectory: { type = "radial2d"; };'
steps='ls: { lambda = 0.001; iterations = 20; };'
"$BORESIDE" phantom --traj radial2d --matrix 48,48 --coils 6 --samples 96 --readouts 80 --slices 2 \
	--coil-turn 40 -o "$dir/spokes.h5" >"$dir/out.txt" 2>&1
cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; acq_slots = 64; $patient };
sinks = ( { type = "cfl"; dir = "images"; } );
protocols = (
	{ name = "espirit"; method = "cartesian"; $small encoded = [64, 37, 1]; samples = 64; $quiet
	  image: { combine = "sense"; maps = "espirit"; }; },
	{ name = "walsh"; method = "cartesian"; $small encoded = [64, 37, 1]; samples = 64; $quiet
	  image: { combine = "sense"; maps = "walsh"; }; },
	{ name = "virtual"; method = "cartesian"; $small encoded = [64, 37, 1]; samples = 64; $quiet
	  virtual_coils = 4; image: { combine = "sense"; maps = "espirit"; }; },
	{ name = "spokes"; method = "sense"; $spokes readouts = 80; slices = 2; $quiet $steps
	  image: { maps = "espirit"; }; },
	{ name = "true"; method = "sense"; $spokes readouts = 80; slices = 2; $quiet $steps
	  image: { maps_file = "$dir/spokes_maps.cfl"; }; },
	{ name = "slide"; method = "sense"; $spokes readouts = 60; $quiet $steps
	  image: { maps = "walsh"; maps_every = 2; }; frame: { step = 20; }; },
	{ name = "slid"; method = "gridding"; $spokes readouts = 60; $quiet
	  image: { combine = "sense"; maps = "espirit"; }; frame: { step = 30; }; },
	{ name = "slab"; method = "sense"; matrix = [32, 32, 4]; coils = 6; samples = 400;
	  readouts = 16; trajectory: { type = "stack"; interleaves = 4; }; $quiet $steps
	  image: { maps = "espirit"; }; },
	{ name = "two"; method = "sense"; $spokes readouts = 80; slices = 2; $quiet $steps
	  image: { maps = "espirit"; map_sets = 2; }; },
	{ name = "soft"; method = "cartesian"; parallel = "sense"; $small encoded = [64, 37, 1];
	  samples = 64; $quiet $steps image: { maps = "espirit"; map_sets = 2; }; },
	{ name = "few"; method = "sense"; $spokes readouts = 6; $quiet
	  image: { maps = "espirit"; }; },
	{ name = "given"; $prisma $quiet image: { combine = "sense";
	  maps_file = "${DATA:-none}/scan/ref/prisma2d_maps_acs24"; }; },
	{ name = "made"; $prisma $quiet image: { combine = "sense"; maps = "espirit"; }; } );
CFG
cd "$dir" || exit 1
# without recordings the maps' file is not there, and its protocol is not needed
[ -d "${DATA:-none}/scan" ] || sed -i '/name = "given"/,/acs24/d' site.cfg
check "a scan with lines of calibration before it" "$BORESIDE" phantom -c site.cfg -p espirit \
	--scanner --slice-order interleaved --calibration separate,16 --repetitions 2 --snr 50 \
	-o separate.h5
check "a scan without" "$BORESIDE" phantom -c site.cfg -p espirit --repetitions 2 --snr 50 \
	-o plain.h5
for p in slide slid slab few; do
	check "$p: a phantom" "$BORESIDE" phantom -c site.cfg -p $p --repetitions 3 --motion 0.3,3 \
		-o $p.h5
done
check "too few spokes are refused where they are armed" \
	sh -c "! \"$BORESIDE\" recon -c site.cfg -p few few.h5 -o few.cfl 2>few.txt"
check "in words" grep "samples k-space without gaps over . points around its center" few.txt
sed -i '/name = "few"/,/espirit/d' site.cfg
starts
both() { # PROTOCOL RECORDING IMAGES
	good "$1" "$2"
	same "$1" "$3" -p "$1" "$2"
}
both espirit separate.h5 6
both espirit plain.h5 6
both walsh separate.h5 6
both virtual separate.h5 6
both soft plain.h5 6
both two spokes.h5 2
both slide slide.h5 7
both slid slid.h5 5
both slab slab.h5 3
both spokes spokes.h5 2
"$BORESIDE" recon -c site.cfg -p true spokes.h5 -o true.cfl >>out.txt 2>&1
true=(true.cfl true-*.cfl)
for i in 0 1; do
	head -c $((8 * 48 * 48 * (i + 1))) spokes_true.cfl | tail -c $((8 * 48 * 48)) >object.cfl
	cp "${true[0]%.cfl}.hdr" object.hdr
	error() { "$BORESIDE" compare "$1" object.cfl | awk '/^scaled/ { print $3 }'; }
	own=$(error "${ours[$i]}")
	given=$(error "${true[$i]}")
	# what maps of single precision and 24 lines add to an image of 7 to 10 percent error
	check "slice $i: $own of the object, with true maps $given" \
		awk -v a="$own" -v b="$given" 'BEGIN { exit !(a > 0 && b > 0 && a < 1.1 * b) }'
done
if [ -d "${DATA:-none}/scan" ]; then
	full=$DATA/scan/prisma2d_dual_20ch.h5
	both made "$full" 2
	check "with BART's maps" "$BORESIDE" recon -c site.cfg -p given "$full" -o given.cfl
	# maps differ by 2.5e-6 (test_maps); magnitudes do not depend on their phase
	check "the same but for roundings, over the phantom" "$BORESIDE" compare \
		--mask "$DATA/scan/ref/prisma2d_mask.cfl" --max-unscaled 1e-5 "${ours[0]}" given.cfl
else
	echo "skip maps of a real scan: no folder of recordings at ${DATA:-none}/scan"
fi
ends
