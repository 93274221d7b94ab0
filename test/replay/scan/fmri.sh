#!/bin/bash
# test/replay/scan/fmri.sh - EPI whole, two slices at once, joined to volumes: on ramps, with a
# ghost that drifts from volume to volume, partial Fourier, every second line, references of both
# habits; each is the undisturbed scan, the service has recon's bytes, weights are ready in time.
# Budgets are measured when arming. Without references a scan is refused, or its volumes are
# partial. A volume that would be late is made with fewer iterations, and certificates speak of
# volumes.
set -u
. "$(dirname "$0")/scans.bash"
cd "$dir" || exit 1
: >out.txt
: >log.txt
sizes='matrix = [32, 36]; encoded = [64, 36, 1]; samples = 64; coils = 10; slices = 6;
  method = "cartesian"; readouts = "header"; image: { volume = true; };'
bands="$sizes parallel = \"slice_grappa\"; multiband: { factor = 2; };"
cat >site.cfg <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; acq_slots = 64; $patient };
endpoints: { archive = ""; };
sinks = ( { type = "cfl"; dir = "images"; }, { type = "mrd"; dir = "mrd"; } );
protocols = (
	{ name = "fmri"; $bands $quiet epi: { correct = true; };
	  budget: { image_ms = 60000.0; calibration_ms = 60000.0; }; },
	{ name = "pocs"; $bands $quiet epi: { correct = true; }; partial_fourier = "pocs"; },
	{ name = "ghost"; $bands $quiet },
	{ name = "zeros"; $bands $quiet epi: { correct = true; }; grappa: { lacking = "zeros"; }; },
	{ name = "late"; ${sizes/image: \{ volume = true; \};/} $quiet parallel = "sense";
	  image: { volume = true; maps = "espirit"; }; ls: { lambda = 1e-4; iterations = 12; };
	  budget: { image_ms = 0.001; on_miss = "shed"; admission = "trust"; }; } );
CFG
phantom() { # phantom NAME OPTIONS...
	local name=$1
	shift
	check "a recording: $name" "$BORESIDE" phantom -o "$name.h5" --traj cartesian --scanner \
		--matrix 32,36 --encoded 64,36 --coils 10 --slices 6 --slice-order interleaved \
		--repetitions 3 --dwell-us 4 "$@"
}
train="--epi --multiband 2 --epi-phase 0.7 --epi-shift -0.3 --epi-drift 0.4"
phantom still --epi --multiband 2
phantom flat $train
phantom ramps $train --ramp-us 60
phantom early $train --ramp-us 60 --partial-y early,0.75
phantom skips $train --accel 2 --multiband 2,3 --single-band first
phantom first $train --ramp-us 60 --single-band blipped-first
phantom none --epi --multiband 2 --single-band none
phantom lines --accel 2 --calibration embedded,14 --snr 50
recon() { # recon NAME PROTOCOL
	check "$1 by $2" "$BORESIDE" recon -c site.cfg -p "$2" -o "$1.cfl" "$1.h5"
}
recon still fmri
recon ramps ghost 2>/dev/null | grep -q '^not ok' && echo "ok ramps without epi.correct: refused" ||
	echo "not ok ramps without epi.correct are taken"
check "as it comes" "$BORESIDE" recon -c site.cfg -p ghost -o ghost.cfl flat.h5
check "it is another image" sh -c "! '$BORESIDE' compare --max-unscaled 0.1 ghost.cfl still.cfl"
recon flat fmri
recon ramps fmri
recon early pocs
recon skips fmri
recon first fmri
# a shift asks for samples beyond the last one, as in epi.sh: 6e-3 of a scan without noise
for n in "" -0002 -0003; do
	near "flat$n: as undisturbed" flat$n.cfl still$n.cfl 6e-3
	near "on ramps$n: as undisturbed" ramps$n.cfl still$n.cfl 6e-3
	near "partial Fourier$n: a quarter less of a head of sharp edges" early$n.cfl still$n.cfl \
		0.05
done
for n in -0002 -0003; do # the first volume is that of the references
	near "references as the first repetition$n" first$n.cfl still$n.cfl 6e-3
	near "every second line, too$n" skips$n.cfl still$n.cfl 0.1
done

starts
complete() { [ "$(of mrd h5 | wc -l)" -ge 3 ] && written 3; }
value() { # value NAME: of the scan's images, in their order
	grep -a -h -o "boreside_$1</name><value>[^<]*" $(of mrd h5) | sed 's/.*>//' | xargs
}
for name in ramps skips; do
	replay fmri $name.h5
	says "$name: the service" "outcome: BS_OK:"
	await complete
	mapfile -t ours < <(of)
	is "$name: volumes" 3 ${#ours[@]}
	for n in 0 1 2; do
		check "$name: volume $((n + 1)), bit for bit" cmp "${ours[$n]}" \
			"$name$([ $n = 0 ] || printf -- '-%04d' $((n + 1))).cfl"
	done
	is "$name: their quality" "complete complete complete" "$(value quality)"
	is "$name: their budget" "met met met" "$(value budget)"
done
is "the volume that waited for weights says how long" 1 \
	"$(value stage_calibration_us | wc -w)"
replay fmri none.h5
says "without references" "BS_ERR_CALIBRATION.*of each slice alone, its references; 0 have come"
is "it leaves no volume" 0 "$(of | wc -l)"
replay zeros none.h5
says "or as they come" "3 images are partial, .* may hold 2 slices: no single-band references"
await complete
is "each partial" "partial partial partial" "$(value quality)"

replay late lines.h5
await complete
is "what would be late is made with fewer iterations" "full fewer late" "$(value rung)"
check "the log names the rung" grep -q "protocol 'late': full -> fewer: does less" log.txt
ends
"$BORESIDE" certify -c site.cfg -p fmri --alone --images 3 -o certificate ramps.h5 >cert.txt 2>&1
check "a certificate speaks of volumes" grep -q "^Contract: every volume within 60000 ms" \
	certificate/certificate.md
check "and of all three" grep -q "N 3," cert.txt
