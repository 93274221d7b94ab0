#!/bin/bash
# test/replay/scan/epi.sh - EPI's reversed lines, readouts on ramps, and navigators: the service and
# `boreside recon` give the same bytes; what is corrected is the undisturbed scan; a scan that lacks
# what its protocol needs is refused in words; errors on real recordings are those of their README
set -u
. "$(dirname "$0")/scans.bash"
small='method = "cartesian"; matrix = [32, 37, 1]; encoded = [64, 37, 1]; coils = 6; samples = 64;
  readouts = 37; slices = 2;'
skips='method = "cartesian"; matrix = [32, 37, 1]; encoded = [64, 37, 1]; coils = 6; samples = 64;
  readouts = "header"; readouts_max = 37; slices = 2; parallel = "grappa";'
prisma='method = "cartesian"; matrix = [64, 64, 1]; encoded = [128, 64, 1]; coils = 20;
  samples = 128; readouts = 64; contrasts = 2;'
cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; acq_slots = 64; $patient };
sinks = ( { type = "cfl"; dir = "images"; } );
protocols = (
	{ name = "plain"; $small $quiet },
	{ name = "epi"; $small $quiet epi: { correct = true; }; },
	{ name = "both"; $small $quiet epi: { correct = true; }; virtual_coils = 4; },
	{ name = "skips"; $skips $quiet },
	{ name = "skips_epi"; $skips $quiet epi: { correct = true; }; virtual_coils = 5; },
	{ name = "full"; $prisma $quiet },
	{ name = "navigated"; $prisma $quiet navigators = "phase"; } );
CFG
cd "$dir" || exit 1
phantom=("$BORESIDE" phantom -c site.cfg -p epi --epi)
check "EPI as it should be" "${phantom[@]}" -o still.h5
check "a phase and a whole sample" "${phantom[@]}" --epi-phase 1.2 --epi-shift 1 -o whole.h5
check "a phase" "${phantom[@]}" --epi-phase -2.5 -o phase.h5
check "a phase and part of a sample" "${phantom[@]}" --epi-phase 0.7 --epi-shift -0.4 -o part.h5
check "on ramps" "${phantom[@]}" --ramp-us 80 --dwell-us 5 -o ramps.h5
check "on ramps, with both" "${phantom[@]}" --ramp-us 80 --dwell-us 5 --epi-phase 0.7 \
	--epi-shift -0.4 -o disturbed.h5
check "every second line" "${phantom[@]}" --accel 2 --calibration embedded,20 -o skips.h5
check "every second line, with both" "${phantom[@]}" --accel 2 --calibration embedded,20 \
	--epi-phase 0.7 --epi-shift -0.4 -o torn.h5
check "reversed lines without a triple" "$BORESIDE" phantom -c site.cfg -p epi --reversed -o bare.h5
starts

check "the undisturbed scan" "$BORESIDE" recon -c site.cfg -p plain still.h5 -o still.cfl
# of the phantom's lines a phase is all there is; a shift asks for samples beyond the last (k ends
# at 32 of 64, where its samples are still so large)
for what in phase:1e-6 whole:2e-3 part:6e-3; do
	file=${what%:*}
	check "$file, as it comes" "$BORESIDE" recon -c site.cfg -p plain "$file.h5" -o raw.cfl
	far "$file: as it comes it is another image" raw.cfl still.cfl 0.1
	replay epi "$file.h5"
	same "$file" 2 -p epi "$file.h5"
	near "$file: corrected it is the undisturbed one" one.cfl still.cfl "${what#*:}"
done
replay both part.h5
same "with virtual coils" 2 -p both part.h5
# the lines that grappa makes are made of corrected ones: as good as those of an undisturbed scan
replay skips_epi skips.h5
same "every second line" 2 -p skips_epi skips.h5
mv one.cfl skips.cfl
mv one.hdr skips.hdr
check "every second line, as it comes" "$BORESIDE" recon -c site.cfg -p skips torn.h5 -o raw.cfl
far "with both: as it comes it is another image" raw.cfl skips.cfl 0.1
replay skips_epi torn.h5
same "every second line, with both" 2 -p skips_epi torn.h5
near "with both: corrected it is the undisturbed one" one.cfl skips.cfl 1e-2
replay plain ramps.h5
says "readouts on ramps are refused as lines of the grid" "BS_ERR_TRAJECTORY.*epi.correct"
scan=$((scan - 1)) # it was never opened
replay epi ramps.h5
same "on ramps" 2 -p epi ramps.h5
near "on ramps: the same image" one.cfl still.cfl 3e-3
replay epi disturbed.h5
same "on ramps, disturbed" 2 -p epi disturbed.h5
near "on ramps, disturbed: the same image" one.cfl still.cfl 3e-3
check "a reversed line without a triple is refused" sh -c "! '$BORESIDE' recon -c site.cfg -p epi \
	bare.h5 -o bare.cfl 2>bare.txt &&
	grep -q 'BS_ERR_CALIBRATION.*reversed line of slice' bare.txt"

if [ -d "$DATA/scan" ]; then
	check "20 channels as they are" "$BORESIDE" recon -c site.cfg -p full \
		"$DATA/scan/prisma2d_dual_20ch.h5" -o full.cfl
	mask=$DATA/scan/ref/prisma2d_mask.cfl
	check "drift" "$BORESIDE" recon -c site.cfg -p full "$DATA/scan/prisma2d_navdrift.h5" \
		-o raw.cfl
	check "drift left alone is 0.125 off" sh -c "! '$BORESIDE' compare --mask '$mask' \
		--max-unscaled 0.12 raw.cfl full.cfl"
	replay navigated "$DATA/scan/prisma2d_navdrift.h5"
	same "drift" 1 -p navigated "$DATA/scan/prisma2d_navdrift.h5"
	check "drift taken off" "$BORESIDE" compare --mask "$mask" --max-unscaled 1e-5 one.cfl \
		full.cfl
	check "navigators not used" "$BORESIDE" recon -c site.cfg -p full \
		"$DATA/scan/prisma2d_nav.h5" -o nav.cfl
	check "change nothing" "$BORESIDE" compare --mask "$mask" --max-unscaled 1e-6 nav.cfl \
		full.cfl
	replay navigated "$DATA/scan/prisma2d_nav.h5"
	same "navigators without drift" 2 -p navigated "$DATA/scan/prisma2d_nav.h5"
else
	echo "skip navigators of a real scan: no folder of recordings at $DATA/scan"
fi
ends
