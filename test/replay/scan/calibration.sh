#!/bin/bash
# test/replay/scan/calibration.sh - budget.calibration_ms: refused when armed where it cannot be
# held, a stage of its own in images and status, a bound of its own for the images that calibrate,
# in certificates, too. No timing passes or fails here but those that no machine can or cannot keep.
set -u
. "$(dirname "$0")/../../support/scratch.bash"
mkdir "$dir/tmp"
export TMPDIR=$dir/tmp
small='method = "cartesian"; backend = "host"; matrix = [32, 37, 1]; encoded = [64, 37, 1];
  coils = 6;
  samples = 64; slices = 2;'
trust='admission = "trust";'
cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; acq_slots = 64; $patient };
sinks = ( { type = "mrd"; dir = "images"; } );
protocols = (
	{ name = "ample"; $small readouts = "header"; $quiet parallel = "grappa"; virtual_coils = 4;
	  budget: { image_ms = 1000000.0; calibration_ms = 1000000.0; $trust }; },
	{ name = "never"; $small readouts = "header"; $quiet parallel = "sense";
	  image: { maps = "espirit"; };
	  budget: { image_ms = 1000000.0; calibration_ms = 0.000001; $trust }; },
	{ name = "refused"; $small readouts = "header"; $quiet parallel = "grappa";
	  budget: { image_ms = 1000000.0; calibration_ms = 0.000001; }; },
	{ name = "still"; $small readouts = 37; $quiet noise: { whiten = "auto"; };
	  budget: { image_ms = 1000000.0; calibration_ms = 1000000.0; $trust }; } );
CFG
cd "$dir" || exit 1
check "a scan with calibration lines" "$BORESIDE" phantom -c site.cfg -p ample --accel 2 \
	--calibration separate,18 --repetitions 3 --tr-us 500 -o scan.h5
check "one without noise" "$BORESIDE" phantom -c site.cfg -p still --tr-us 500 -o still.h5
starts
replay() { # protocol, status, words of its last lines
	"$BORESIDE" replay -c site.cfg --asap $patience -p "$1" scan.h5 >replay.txt 2>&1
	check "$1: exit status $2" [ $? -eq "$2" ]
	check "$1: $3" grep -q "$3" replay.txt
}
replay refused 1 'BS_ERR_BUDGET.*budget.calibration_ms is 1e-06, the estimate [0-9.]* ms ('
replay ample 0 'outcome: BS_OK'
replay never 0 'outcome: BS_OK'
"$BORESIDE" status -c site.cfg --latency >latency.txt 2>&1
count() { grep "^$1 .*calibration" latency.txt | awk '{ print $3 }'; }
check "six images, two slices: two calibrations of weights" [ "$(count ample)" -eq 2 ]
check "and of maps" [ "$(count never)" -eq 2 ]
"$BORESIDE" status -c site.cfg >status.txt
check "refused when armed" grep -q 'protocol refused *refused' status.txt
check "over their budget, counted" grep -q 'calibration *1e-06 ms: missed 2 times' status.txt
ends
check "recon says the same" "$BORESIDE" recon -c site.cfg -p ample scan.h5 -o one.h5
said() { grep -ao "boreside_$1</name><value>[^<]*" one.h5 | sed 's/.*>//'; }
check "an image that calibrates may take both budgets" \
	[ "$(said budget_ms | sort -u | tr '\n' ' ')" \
	= '1e+06 2e+06 ' ]
check "two do, the first of each slice" \
	[ "$(said budget_ms | grep -n 2e+06 | cut -d: -f1 | tr '\n' ' ')" \
	= '1 2 ' ]
check "and say how long it took" [ "$(said stage_calibration_us | wc -l)" -eq 2 ]
certify() { # protocol, status, recording, words of the certificate
	timeout 250 "$BORESIDE" certify -c site.cfg -p "$1" -o "$1" --images 12 --alone "$3" \
		>certify.txt 2>&1
	check "certify $1: exit status $2" [ $? -eq "$2" ]
	check "certify $1: $4" grep -q "$4" "$1/certificate.json"
	tail -n 5 certify.txt >>out.txt
}
certify ample 0 scan.h5 '"verdict":"kept"'
check "its first images calibrate, in each scan" grep -q '"calibrated":4,' ample/certificate.json
check "how long, in a line of its own" grep -q '"calibration_ms":{"n":4,' ample/certificate.json
check "the contract says both" grep -q 'within 1e+06 ms of .* within 1e+06 ms more' \
	ample/certificate.md
certify never 1 scan.h5 'took longer to calibrate than budget.calibration_ms: 4 of 4'
certify still 1 still.h5 'budget.calibration_ms was not tried'
