#!/bin/bash
# test/replay/scan/lacking.sh - a scan that lacks what its protocol needs is ended with one outcome
# and the reason in words, logged once, at the readout that proves it; the next scan is served
# Holds: W57
set -u
. "$(dirname "$0")/../../support/scratch.bash"
small='method = "cartesian"; matrix = [32, 37, 1]; encoded = [64, 37, 1]; coils = 6; samples = 64;
  readouts = "header"; slices = 2;'
cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; acq_slots = 64; $patient };
endpoints: { archive = ""; viewers = ""; };
sinks = ( { type = "cfl"; dir = "images"; } );
protocols = (
	{ name = "plain"; $small $quiet },
	{ name = "epi"; $small $quiet epi: { correct = true; }; },
	{ name = "grappa"; $small $quiet parallel = "grappa"; },
	{ name = "zeros"; $small $quiet parallel = "grappa"; grappa: { lacking = "zeros"; }; },
	{ name = "sense"; $small $quiet parallel = "sense"; image: { maps = "espirit"; }; },
	{ name = "small"; $small $quiet parallel = "sense"; image: { maps = "espirit"; };
	  espirit: { kernel = 4; }; },
	{ name = "white"; $small $quiet noise: { whiten = "require"; }; },
	{ name = "virtual"; $small $quiet virtual_coils = 4; parallel = "grappa"; } );
CFG
cd "$dir" || exit 1
phantom=("$BORESIDE" phantom -c site.cfg -p plain --repetitions)
check "a scan that lacks nothing" "${phantom[@]}" 3 -o whole.h5
check "reversed lines without phase correction" "${phantom[@]}" 3 --reversed -o reversed.h5
check "every third line" "${phantom[@]}" 3 --accel 3 --calibration embedded,2 -o third.h5
check "every third line, with calibration" "${phantom[@]}" 3 --accel 3 --calibration embedded,18 \
	-o calibrated.h5
check "every third line, with a little" "${phantom[@]}" 3 --accel 3 --calibration embedded,8 \
	-o little.h5
check "every third line, calibrated elsewhere" "${phantom[@]}" 3 --accel 3 -o external.h5
starts
# lines of the log with these words, without the one that sums up a scan that has ended
told() { grep -v ': audit: ' log.txt | grep -c "$1"; }
lacks() { # protocol, recording, images that its outcome says, words of the reason, how it ends
	local before after
	before=$(told "$4")
	"$BORESIDE" replay -c site.cfg --asap $patience -p "$1" "$2.h5" >replay.txt 2>&1 &&
		echo "not ok $1: $2 ends well"
	cat replay.txt >>out.txt
	check "$1: $2: the end" grep -q "$5: BS_ERR_CALIBRATION.*$4" replay.txt
	[ "$5" = refused ] || check "$1: $2: $3 images" grep -q "images $3," replay.txt
	after=$(told "$4")
	check "$1: $2: logged once" [ $((after - before)) -eq 1 ]
	check "$1: $2: one line of the log warns of it" \
		[ "$(grep -c ' warn: \| error: ' log.txt)" \
		-eq $((warned += 1)) ]
	"$BORESIDE" replay -c site.cfg --asap $patience -p plain whole.h5 >replay.txt 2>&1
	check "$1: the next scan" grep -q "outcome: BS_OK" replay.txt
}
warned=$(grep -c ' warn: \| error: ' log.txt)
lacks epi reversed 0 'acquisition 2 is a reversed line of slice 0' outcome
lacks grappa third 0 'slice 0, contrast 0: parallel grappa needs 9 x 1 lines' outcome
lacks virtual third 0 'slice 0, contrast 0: parallel grappa needs 9 x 1 lines' outcome
lacks sense third 0 'slice 0: coil maps need' outcome
lacks sense little 0 'slice 0: coil maps need 11 x 1 .*, there are [89] x 1' outcome
lacks grappa external 0 "calibrationMode is 'external'" refused
lacks white whole 0 'requires noise: no readout of it came' outcome
for p in grappa sense virtual; do
	"$BORESIDE" replay -c site.cfg --asap $patience -p $p calibrated.h5 >replay.txt 2>&1
	check "$p: a scan that brings its calibration" grep -q "outcome: BS_OK" replay.txt
done
"$BORESIDE" replay -c site.cfg --asap $patience -p small little.h5 >replay.txt 2>&1
check "small: a smaller kernel takes a little" grep -q "outcome: BS_OK" replay.txt
# taken as it comes, and said to be partial; one repetition shown to hold what came and no more
check "zeros: every third line of one repetition" "${phantom[@]}" 1 --accel 3 \
	--calibration embedded,2 -o once.h5
"$BORESIDE" replay -c site.cfg --asap $patience -p zeros once.h5 >replay.txt 2>&1
check "zeros: taken" grep -q "outcome: BS_OK: 2 images are partial, the first: .*9 x 1 lines" \
	replay.txt
check "zeros: and said to be zeros" grep -q "lines that were left out are zeros" replay.txt
scan=$(printf %03d "$(told 'session.*protocol')")
written() { [ "$(ls images/*s"$scan"-*.cfl 2>/dev/null | wc -l)" -ge 2 ]; }
await written
check "zeros: in one process" "$BORESIDE" recon -c site.cfg -p zeros once.h5 -o one.cfl
check "zeros: the same bytes" cmp one.cfl "$(ls images/*s"$scan"-*.cfl | head -n 1)"
"$BORESIDE" replay -c site.cfg --asap $patience -p zeros external.h5 >replay.txt 2>&1
check "zeros: a scan that is calibrated elsewhere, too" grep -q "outcome: BS_OK: 6 images" \
	replay.txt
"$BORESIDE" replay -c site.cfg --asap $patience -p zeros calibrated.h5 >replay.txt 2>&1
check "zeros: one that brings its calibration is whole" \
	sh -c "grep -q 'outcome: BS_OK' replay.txt &&
	! grep -q partial replay.txt"
ends
