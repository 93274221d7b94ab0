#!/bin/bash
# test/replay/scan/noise.sh - whitening by a scan's own noise and by an earlier scan's, and coil
# compression: the service and `boreside recon` give the same bytes; a scan that lacks the noise
# that its protocol requires is refused in words; errors on a real recording are those of its README
# Holds: W55, C4
set -u
. "$(dirname "$0")/scans.bash"
prisma='method = "cartesian"; matrix = [64, 64, 1]; encoded = [128, 64, 1]; coils = 20;
  samples = 128; readouts = 64;'
small='method = "cartesian"; matrix = [32, 37, 1]; encoded = [64, 37, 1]; coils = 6; samples = 64;
  readouts = 37; slices = 3;'
cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; acq_slots = 64; $patient };
sinks = ( { type = "cfl"; dir = "images"; } );
protocols = (
	{ name = "required"; $small $quiet noise: { whiten = "require"; }; },
	{ name = "both"; $small $quiet noise: { whiten = "auto"; }; virtual_coils = 3; },
	{ name = "full"; $prisma contrasts = 2; $quiet },
	{ name = "prisma"; $prisma contrasts = 2; $quiet noise: { whiten = "require"; }; },
	{ name = "prisma8"; $prisma contrasts = 2; $quiet virtual_coils = 8; },
	{ name = "prisma4"; $prisma contrasts = 2; $quiet virtual_coils = 4;
	  compression = "geometric"; } );
CFG
cd "$dir" || exit 1
phantom=("$BORESIDE" phantom -c site.cfg -p required --scanner --slice-order interleaved
	--snr 20 --noise-spread 3 --noise-correlation 0.5)
check "a noise scan" "${phantom[@]}" --noise-only --noise-scan 8,150 --measurement 1_1 -o noise.h5
check "a scan that points to it" "${phantom[@]}" --noise-from 1_1 --measurement 1_2 -o points.h5
check "a scan with its own" "${phantom[@]}" --noise-scan 8,150 --noise-from 1_1 --measurement 1_3 \
	--seed 5 -o own.h5
starts

replay required points.h5
says "before its noise came, a scan that requires it is ended" \
	"BS_ERR_CALIBRATION: noise.whiten of protocol 'required' requires noise.*'1_1' is not known"
"$BORESIDE" recon -c site.cfg -p required points.h5 -o one.cfl >replay.txt 2>&1
says "recon refuses it, too" \
	"BS_ERR_CALIBRATION: noise.whiten of protocol 'required' requires noise"
replay both points.h5
same "wanted where it is known" 3 -p both points.h5
replay both noise.h5
says "a noise scan by itself is a scan" "outcome: BS_OK"
replay required points.h5
same "noise of an earlier scan" 3 -p required --noise noise.h5 points.h5
same "the same, by the header's name" 3 -p required --before required=noise.h5 points.h5
replay both points.h5
same "the same, compressed" 3 -p both --noise noise.h5 points.h5
replay required own.h5
same "noise of its own before another's" 3 -p required --noise noise.h5 own.h5
check "which is the same as by itself" sh -c "'$BORESIDE' recon -c site.cfg -p required own.h5 \
	-o self.cfl && cmp self.cfl '${ours[0]}'"

if [ -d "$DATA/scan" ]; then
	ref=$DATA/scan/ref
	near() { # words, image, reference, largest unscaled error over the phantom
		check "$1" "$BORESIDE" compare --mask "$ref/prisma2d_mask.cfl" --max-unscaled "$4" \
			"$2" "$3"
	}
	replay prisma "$DATA/scan/prisma2d_noise_20ch.h5"
	same "20 channels with noise" 1 -p prisma "$DATA/scan/prisma2d_noise_20ch.h5"
	# the same estimate by numpy, unscaled: to the rounding of floats; the true Psi: README
	near "whitened as by numpy" "${ours[0]}" "$ref/prisma2d_noise_whitened_rss_est.cfl" 1e-6
	near "whitened as by the true covariance" "${ours[0]}" \
		"$ref/prisma2d_noise_whitened_rss_true.cfl" 6.6e-3
	mv "${ours[0]}" white.cfl
	mv "${ours[0]%.cfl}.hdr" white.hdr
	check "its lines without noise" "$BORESIDE" recon -c site.cfg -p prisma \
		--noise "$DATA/scan/prisma2d_noise_20ch.h5" "$DATA/scan/prisma2d_dual_20ch.h5" \
		-o clean.cfl
	near "whitened, against its own image without noise" white.cfl clean.cfl 2.75e-2
	check "20 channels as they are" "$BORESIDE" recon -c site.cfg -p full \
		"$DATA/scan/prisma2d_dual_20ch.h5" -o full.cfl
	replay prisma8 "$DATA/scan/prisma2d_dual_20ch.h5"
	same "20 channels in 8" 2 -p prisma8 "$DATA/scan/prisma2d_dual_20ch.h5"
	near "8 of 20 coils lose 5.4e-3" "${ours[0]}" full.cfl 5.94e-3
	# the coils of one column differ by little: a fifth of what 8 lose for all of them
	replay prisma4 "$DATA/scan/prisma2d_dual_20ch.h5"
	same "20 channels in 4 at each place" 2 -p prisma4 "$DATA/scan/prisma2d_dual_20ch.h5"
	near "4 at each place of the readout lose less" "${ours[0]}" full.cfl 1e-3
else
	echo "skip noise and compression of a real scan: no folder of recordings at $DATA/scan"
fi
ends
