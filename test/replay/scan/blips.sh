#!/bin/bash
# test/replay/scan/blips.sh - EPI through a field: with its map voxels go back to where they belong,
# whichever way the lines come, accelerated, with slices at once, in volumes; the map is a file's or
# that of an earlier scan of the study; the service has recon's bytes; what cannot be is refused
set -u
. "$(dirname "$0")/scans.bash"
cd "$dir" || exit 1
: >out.txt
: >log.txt
epi='matrix = [40, 42]; encoded = [80, 42, 1]; samples = 80; coils = 8; slices = 2;
  method = "cartesian"; readouts = "header"; epi: { correct = true; };'
file='field: { map_file = "rising_field.cfl"; echo_spacing_us'
cat >site.cfg <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; acq_slots = 64; $patient };
endpoints: { archive = ""; };
sinks = ( { type = "cfl"; dir = "images"; }, { type = "mrd"; dir = "mrd"; } );
protocols = (
	{ name = "plain"; $epi $quiet },
	{ name = "map"; $epi $quiet $file = 328.0; }; },
	{ name = "volume"; $epi $quiet $file = 328.0; }; image: { volume = true; }; },
	{ name = "half"; $epi $quiet parallel = "grappa"; $file = 164.0; }; },
	{ name = "half_plain"; $epi $quiet parallel = "grappa"; },
	{ name = "bands"; $epi $quiet parallel = "slice_grappa"; multiband: { factor = 2; };
	  $file = 328.0; }; },
	{ name = "study"; $epi $quiet
	  field: { from = "study"; range_hz = 120.0; echo_spacing_us = 328.0; }; },
	{ name = "narrow"; $epi $quiet
	  field: { from = "study"; range_hz = 20.0; echo_spacing_us = 328.0; }; },
	{ name = "dual"; method = "cartesian"; matrix = [40, 42]; encoded = [80, 42, 1]; coils = 8;
	  samples = 80; readouts = "header"; contrasts = 2; slices = 2; $quiet
	  field: { from = "echoes"; }; } );
CFG
phantom() { # phantom NAME OPTIONS...
	local name=$1
	shift
	check "a recording: $name" "$BORESIDE" phantom -o "$name.h5" --traj cartesian --scanner \
		--matrix 40,42 --encoded 80,42 --coils 8 --slices 2 --dwell-us 2 --study 1.2 \
		--coil-sphere --fov-mm 200,210,5 --oblique 1e-9,1e-9 "$@"
}
phantom rising --epi --field-hz 90
phantom falling --epi --field-hz 90 --falling
phantom flat --epi --field-hz 1e-9
phantom half --epi --field-hz 90 --accel 2 --calibration embedded,20
phantom bands --epi --field-hz 90 --multiband 2
phantom dual --field-hz 90 --echoes 2 --te-ms 4.92,7.38 --measurement dual
recon() { # recon OUT PROTOCOL NAME
	check "$1 by $2" "$BORESIDE" recon -c site.cfg -p "$2" -o "$1.cfl" "$3.h5"
}
recon flat plain flat
for way in rising falling; do
	recon bent plain $way
	far "$way: as it comes voxels lie elsewhere" bent.cfl flat.cfl 0.2
	recon $way map $way
	for n in "" -0002; do
		# what is left is at the head's edge, between voxels whose fields differ
		near "$way$n: they are moved back" $way$n.cfl flat$n.cfl 0.08
	done
done
far "the two are no copies" rising.cfl falling.cfl 1e-6
recon half half half
near "every second line, half the time from line to line" half.cfl flat.cfl 0.09
recon bands bands bands
near "two slices at once" bands.cfl flat.cfl 0.1
near "two slices at once, the other one" bands-0002.cfl flat-0002.cfl 0.1
check "by maps of the study" "$BORESIDE" recon -c site.cfg -p study --before dual=dual.h5 \
	-o study.cfl rising.h5
near "by an earlier scan's map" study.cfl flat.cfl 0.09
recon volume volume falling
cat falling.cfl falling-0002.cfl >want
check "joined: the same bytes" cmp volume.cfl want

starts
complete() { [ "$(of mrd h5 | wc -l)" -ge 2 ] && written 2; }
replay study rising.h5
says "without the study's map: refused" "refused: BS_ERR_CALIBRATION: field.from of protocol"
scan=0 # it was never opened
for way in rising falling; do
	replay map $way.h5
	await complete
	mapfile -t ours < <(of)
	check "$way: the service, bit for bit" cmp "${ours[0]}" $way.cfl
	check "$way: and slice 1" cmp "${ours[1]}" $way-0002.cfl
	check "$way: images say so" sh -c "strings -n 8 $(of mrd h5 | head -n 1) |
		grep -q 'boreside_field_blips</name><value>$way<'"
done
replay dual dual.h5
replay narrow rising.h5
says "a map beyond what is prepared for" "field.range_hz is 20"
scan=3
replay study rising.h5
await complete
mapfile -t ours < <(of)
check "the study's map by the service, bit for bit" cmp "${ours[0]}" study.cfl
ends
check "the plan" sh -c "'$BORESIDE' check site.cfg | grep -q 'lines > unwarp, combine'"
bad() { # bad WORDS KEYS...
	local words=$1
	shift
	echo "protocols = ( { name = \"bad\"; $epi $* } );" >bad.cfg
	"$BORESIDE" check bad.cfg >bad.txt 2>&1
	check "check refuses $*" [ $? -ne 0 ]
	says "in words: $words" "$words" bad.txt
}
bad "field.echo_spacing_us: missing" "$file = 0.0; };"
bad "field.echo_spacing_us: has no effect without" 'field: { echo_spacing_us = 300.0; };'
bad "field.dwell_us: has no effect with method cartesian" "$file = 300.0; dwell_us = 2.0; };"
(epi=${epi/42]; enc/40]; enc} && bad "with as many voxels along y as lines" "$file = 300.0; };")
bad "not with a solver, nor with maps made from the scan" "$file = 300.0; };
	image: { combine = \"sense\";
	maps = \"walsh\"; };"
bad "not with a solver" "$file = 300.0; }; parallel = \"sense\"; image: { maps = \"espirit\"; };"
