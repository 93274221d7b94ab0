#!/bin/bash
# test/replay/grid.sh - gridding and sense of samples on the grid: the same images as by FFT
#
# All lines of a grid make F^H F the identity times the number of grid points: gridding without
# weights is the FFT's image times the root of that number, and sense solves to the combination by
# the same maps. Bounds: the NUFFT's own at 1e-6, 5e-6 (test_nufft.c), and twice that once solved.
set -u
. "$(dirname "$0")/../support/scratch.bash"
needs "$DATA/scan/ref" "samples on the grid"
cd "$dir" || exit 1
grid='trajectory: { type = "cartesian"; }; gridding: { accuracy = 1e-6; };'
coils='image: { combine = "none"; output = "complex"; };'
maps="image: { combine = \"sense\"; output = \"complex\";
	maps_file = \"$DATA/scan/ref/prisma2d_maps_acs24.cfl\"; };"
# protocols NAME SAMPLES READOUTS: cart_NAME and grid_NAME
protocols() {
	for method in cart grid; do
		echo "{ name = \"${method}_$1\"; matrix = [64, 64]; encoded = [128, 64, 1];
			coils = 20; contrasts = 2; samples = $2; readouts = $3; $coils"
		[ $method = cart ] && echo 'method = "cartesian"; },' ||
			echo "method = \"gridding\"; $grid },"
	done
}
sense() { # sense NAME KEYS
	echo ", { name = \"$1\"; method = \"sense\"; matrix = [64, 64]; encoded = [128, 64, 1];
		coils = 20; contrasts = 2; samples = 128; readouts = 64; $grid $maps
		ls: { iterations = 20; tolerance = 1e-7; $2 }; }"
}
{
	echo 'node: { run_dir = "run"; cache_dir = ""; threads = 2; }; protocols = ('
	protocols dual 128 64
	protocols pf 128 48
	protocols asym 96 64
	echo "{ name = \"combined\"; method = \"cartesian\"; matrix = [64, 64];
		encoded = [128, 64, 1]; coils = 20; contrasts = 2; samples = 128; readouts = 64;
		$maps }"
	sense exact 'fhd = "exact"; q = "exact";'
	sense jacobi 'preconditioner = "jacobi";'
	echo ');'
} >site.cfg
recon() { # recon PROTOCOL RECORDING: images PROTOCOL.cfl, PROTOCOL-0002.cfl
	"$BORESIDE" recon -c site.cfg -p "$1" "$DATA/scan/$2.h5" -o "$1.cfl" >"$1.log" 2>&1 ||
		echo "not ok $1 of $2: $(tail -n 1 "$1.log")"
}
same() { # same A B BOUND: each image
	local image
	for image in "$2"*.cfl; do
		"$BORESIDE" compare "$1${image#"$2"}" "$image" --max-nrmse "$3" >log 2>&1 &&
			echo "ok $1${image#"$2"}: $(grep -o 'NRMSE.*' log | head -n 1)" ||
			echo "not ok $1${image#"$2"}: $(tail -n 2 log)"
	done
}
for pair in "dual prisma2d_dual_20ch" "pf prisma2d_pf6_8" "asym prisma2d_asym"; do
	set -- $pair
	recon "cart_$1" "$2"
	recon "grid_$1" "$2"
	same "grid_$1" "cart_$1" 5e-6
done
recon combined prisma2d_dual_20ch
for p in exact jacobi; do
	recon $p prisma2d_dual_20ch
	same $p combined 1e-5
done
"$BORESIDE" recon -c site.cfg -p grid_pf "$DATA/scan/prisma2d_pf6_8_early.h5" -o x.cfl >log 2>&1
if [ $? -eq 1 ] && grep -q 'line 48, partition 0 .* not among the first 48' log; then
	echo "ok a line that the protocol does not have: $(tail -n 1 log)"
else
	echo "not ok a line that the protocol does not have: $(tail -n 1 log)"
fi
