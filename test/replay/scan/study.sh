#!/bin/bash
# test/replay/scan/study.sh - what a scan leaves to later ones of its study: coil maps. The service
# and `boreside recon` give the same bytes; what does not fit is refused in words, most of it at
# OPEN; the oldest goes first; recon's end in between costs nothing
# Holds: W59
set -u
. "$(dirname "$0")/scans.bash"
grid='method = "cartesian"; matrix = [32, 37, 1]; encoded = [64, 37, 1]; coils = 6; samples = 64;
  slices = 2;'
cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; acq_slots = 64; $patient
  study_scans = 2; };
sinks = ( { type = "cfl"; dir = "images"; }, { type = "mrd"; dir = "mrd"; } );
protocols = (
	{ name = "makes"; $grid readouts = 37; $quiet
	  image: { combine = "sense"; maps = "espirit"; output = "complex"; }; },
	{ name = "white"; $grid readouts = 37; $quiet noise: { whiten = "require"; };
	  image: { combine = "sense"; maps = "espirit"; }; },
	{ name = "other"; $grid readouts = 37; $quiet },
	{ name = "folded"; $grid readouts = 19; $quiet parallel = "sense";
	  image: { maps = "study"; output = "complex"; }; ls: { iterations = 40; }; },
	{ name = "makes2"; $grid readouts = 37; $quiet
	  image: { combine = "sense"; maps = "espirit"; map_sets = 2; output = "complex"; }; },
	{ name = "folded2"; $grid readouts = 19; $quiet parallel = "sense";
	  image: { maps = "study"; map_sets = 2; output = "complex"; }; ls: { iterations = 40; }; },
	{ name = "foldedwhite"; $grid readouts = 19; $quiet parallel = "sense";
	  noise: { whiten = "auto"; };
	  image: { maps = "study"; output = "complex"; }; ls: { iterations = 40; }; },
	{ name = "spiral"; method = "sense"; matrix = [32, 37]; coils = 6; samples = 600;
	  readouts = 4; slices = 2; $quiet trajectory: { type = "spiral2d"; };
	  image: { maps = "study"; output = "complex"; }; ls: { iterations = 40; }; },
	{ name = "three"; method = "cartesian"; matrix = [32, 37, 1]; encoded = [64, 37, 1];
	  coils = 6; samples = 64; slices = 3; readouts = 19; $quiet parallel = "sense";
	  image: { maps = "study"; }; } );
CFG
cd "$dir" || exit 1
phantom() { # protocol, measurement, more
	local p=$1 id=$2
	shift 2
	check "a phantom: $id" "$BORESIDE" phantom -c site.cfg -p "$p" --scanner --measurement \
		"$id" \
		--snr 200 -o "$id.h5" "$@"
}
phantom makes full1 --study 1.2.3
phantom makes full2 --study 1.2.3 --seed 2
phantom makes full3 --study 1.2.3 --seed 3
phantom white noisy --study 9.8.7 --noise-scan 8,150 --noise-spread 3
phantom folded named --maps-from full1 --accel 2
phantom folded same --study 1.2.3 --accel 2
phantom folded stranger --study 1.2.4 --accel 2
phantom folded alone --accel 2
check "a phantom: fov" "$BORESIDE" phantom --traj cartesian --matrix 32,37 --encoded 64,37 \
	--coils 6 --slices 2 --scanner --accel 2 --fov-mm 40,37,1 --study 1.2.3 -o fov.h5
phantom folded moved --study 1.2.3 --accel 2 --position-mm 0,1,0
phantom folded turned --study 1.2.3 --accel 2 --oblique 0.5,0.5
phantom foldedwhite quiet --study 9.8.7 --accel 2
phantom three three --study 1.2.3 --accel 2
check "a phantom: a spiral" "$BORESIDE" phantom -c site.cfg -p spiral --oblique 1e-9,1e-9 \
	--study 1.2.3 --measurement spiral -o spiral.h5

starts
refused folded same.h5 "no scan of study '1.2.3' has left any"
good makes full1.h5
refused folded alone.h5 "names neither a scan .* nor a study"
refused folded stranger.h5 "no scan of study '1.2.4' has left any"
refused folded fov.h5 "field of view of scan 'full1' is 32 mm along x, of this one 40"
refused three three.h5 "scan 'full1' has 2 slices, this one 3"
ended folded moved.h5 "slice 0 of scan 'full1' lies at"
ended folded turned.h5 "or its axes differ"
good folded named.h5
same "maps of the scan that the header names" 2 -p folded --before makes=full1.h5 named.h5
cp "${ours[0]}" named.cfl
cp "${ours[0]%.cfl}.hdr" named.hdr
check "all lines of the scan that made them" "$BORESIDE" recon -c site.cfg -p makes full1.h5 \
	-o all.cfl
# 3.4e-2, of which noise is 1e-2; with 20 calibration lines of its own it is 2.0e-2, folded 0.5
check "unfolded" "$BORESIDE" compare --max-unscaled 4e-2 named.cfl all.cfl
old=$(pid)
check "recon is killed" kill -KILL "$old"
await replaced
good folded named.h5
await written 2
mapfile -t ours < <(of)
check "its successor has the maps, too" cmp "${ours[0]}" named.cfl
good spiral spiral.h5
same "a spiral with maps of lines" 2 -p spiral --before makes=full1.h5 spiral.h5
good makes full2.h5
good folded same.h5
same "the newest of the study" 2 -p folded --before makes=full1.h5 --before makes=full2.h5 same.h5
good makes full3.h5
refused folded named.h5 "scan 'full1', which the header names, has left none, or is not known"
good white noisy.h5
ended foldedwhite quiet.h5 "scan 'noisy' were whitened, those of this one are not"
good makes2 full1.h5
refused folded named.h5 "6 coils in 2 sets, this one needs 32 x 37 x 1 of 6 in 1"
good folded2 named.h5
same "two sets of maps" 2 -p folded2 --before makes2=full1.h5 named.h5
"$BORESIDE" recon -c site.cfg -p folded same.h5 -o one.cfl >replay.txt 2>&1
check "recon without refuses, too" grep -q "BS_ERR_CALIBRATION: .*no scan came before" replay.txt
filed() { ls mrd/*.h5 >/dev/null 2>&1; }
await filed
ends
check "images say whose maps they are" sh -c \
	"strings -n 8 mrd/*.h5 | grep -q 'boreside_maps_scan</name><value>full2<'"
