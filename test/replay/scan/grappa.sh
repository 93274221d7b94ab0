#!/bin/bash
# test/replay/scan/grappa.sh - accelerated recordings unfolded by GRAPPA, with one set of defaults:
# the errors that another program reached with the best parameters for each, times 1.3; in the
# service as in recon, with any number of threads; what a scan without calibration lines is told
#
# Bounds: DATA/scan/README.md's GRAPPA errors (pygrappa 0.26.3, kernel and lambda picked against the
# truth), both contrasts, over the mask, against the same lines in full. The Shepp-Logan phantom,
# after scaling, against the object: 1.3 times what the same comparison gives pygrappa's image.
set -u
. "$(dirname "$0")/../../support/scratch.bash"
needs "$DATA/scan/ref" "GRAPPA"
cd "$dir" || exit 1
protocol() { # protocol NAME METHOD-KEYS READOUTS
	echo "{ name = \"$1\"; method = \"cartesian\"; $2 matrix = [64, 64]; $quiet
		encoded = [128, 64, 1]; coils = 20; contrasts = 2; samples = 128; readouts = $3; }"
}
{
	echo "node: { name = \"test\"; run_dir = \"run\"; cache_dir = \"\"; threads = 2;
		$patient };"
	echo 'sinks = ( { type = "cfl"; dir = "images"; } ); protocols = ('
	protocol full '' 64
	for p in R2_acs16,40 R3_acs24,37 R3_sep,21 dual_20ch,64 none,21; do
		echo ,
		protocol "${p%,*}" 'parallel = "grappa";' "${p#*,}"
	done
	echo ', { name = "shepp"; method = "cartesian"; parallel = "grappa"; matrix = [256, 256];
		encoded = [512, 256, 1]; coils = 8; samples = 512; readouts = 82; '"$quiet"' } );'
} >site.cfg
recon() { # recon PROTOCOL RECORDING OUT
	"$BORESIDE" recon -c site.cfg -p "$1" "$DATA/scan/$2.h5" -o "$3.cfl" >"$3.log" 2>&1 ||
		echo "not ok $1 of $2: $(tail -n 1 "$3.log")"
}
near() { # near A B BOUND OPTION: B is the reference
	"$BORESIDE" compare "$1" "$2" "$4" "$3" --mask "$mask" >log 2>&1 &&
		echo "ok ${1%.cfl}: $(grep -o 'NRMSE[^,]*' log | head -n 1), at most $3" ||
		echo "not ok ${1%.cfl}: $(tail -n 2 log)"
}
mask="$DATA/scan/ref/prisma2d_mask.cfl"
recon full prisma2d_dual_20ch full
while read -r name first second; do
	recon "$name" "prisma2d_$name" "$name"
	near "$name.cfl" full.cfl "$first" --max-unscaled
	near "$name-0002.cfl" full-0002.cfl "$second" --max-unscaled
done <<END
R2_acs16 2.60e-3 2.86e-3
R3_acs24 6.50e-3 6.63e-3
R3_sep   8.71e-3 8.84e-3
END
recon dual_20ch prisma2d_dual_20ch whole
cmp -s whole.cfl full.cfl && cmp -s whole-0002.cfl full-0002.cfl &&
	echo "ok a scan that lacks no lines: the bytes of parallel none" ||
	echo "not ok a scan that lacks no lines: other bytes"
mask="$DATA/scan/ref/shepp2d_phantom.cfl"
recon shepp shepp2d_R4_acs24_8ch shepp
for i in shepp.cfl shepp-0002.cfl; do # the second repetition has other lines
	near $i "$mask" 0.171 --max-nrmse
done
# The first 21 of 64 lines: none of them is near the center.
lacks='parallel grappa needs 9 x 1 lines .* 0 x 0 have come'
if "$BORESIDE" recon -c site.cfg -p none "$DATA/scan/prisma2d_dual_20ch.h5" -o x.cfl >log 2>&1 ||
	! grep -q "BS_ERR_CALIBRATION.*$lacks" log; then
	echo "not ok without calibration lines: $(tail -n 1 log)"
else
	echo "ok without calibration lines: $(tail -n 1 log)"
fi
"$BORESIDE" recon -c site.cfg -p R3_acs24 "$DATA/scan/prisma2d_R3_acs24.h5" -o said.h5 >log 2>&1
[ "$(grep -ao 'boreside_quality</name><value>[a-z]*' said.h5 | grep -c complete)" -eq 2 ] &&
	echo "ok both images are complete" || echo "not ok images that are whole are not complete"
sed 's/threads = 2/threads = 5/' site.cfg >five.cfg
"$BORESIDE" recon -c five.cfg -p R3_acs24 "$DATA/scan/prisma2d_R3_acs24.h5" -o five.cfl >log 2>&1
cmp -s five.cfl R3_acs24.cfl && cmp -s five-0002.cfl R3_acs24-0002.cfl &&
	echo "ok five threads: the same bytes" || echo "not ok five threads: other bytes"

starts
written() { [ "$(ls images/*s00$scan-*.cfl 2>/dev/null | wc -l)" -ge 2 ]; }
scan=0
for pair in R2_acs16,prisma2d_R2_acs16 R3_sep,prisma2d_R3_sep shepp,shepp2d_R4_acs24_8ch; do
	scan=$((scan + 1))
	name=${pair%,*}
	"$BORESIDE" replay -c site.cfg --asap $patience -p "$name" "$DATA/scan/${pair#*,}.h5" \
		>replay.log 2>&1 || echo "not ok $name: $(tail -n 1 replay.log)"
	await written
	mapfile -t ours < <(ls images/*s00$scan-*.cfl)
	cmp -s "${ours[0]}" "$name.cfl" && cmp -s "${ours[1]}" "$name-0002.cfl" &&
		echo "ok $name through the service: the bytes of recon" ||
		echo "not ok $name through the service: other bytes"
done
"$BORESIDE" replay -c site.cfg --asap $patience -p none "$DATA/scan/prisma2d_dual_20ch.h5" >log 2>&1
grep -q "outcome: BS_ERR_CALIBRATION.*$lacks" log &&
	echo "ok the outcome says what was lacking" || echo "not ok the outcome: $(tail -n 1 log)"
