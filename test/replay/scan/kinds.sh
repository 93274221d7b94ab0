#!/bin/bash
# test/replay/scan/kinds.sh - what a scan brings beside its lines is counted by kind and told: in
# the outcome, the status, the images' attributes and the words of `boreside recon`; lines that were
# sampled backwards, or between navigators, give the image of those that were not
# Holds: W51, C3
set -u
. "$(dirname "$0")/../../support/scratch.bash"
needs "$DATA/scan" "kinds of readouts"
cat >"$dir/site.cfg" <<END
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; acq_slots = 64; $patient };
sinks: ( { type = "mrd"; dir = "out"; }, { type = "cfl"; dir = "cfl"; } );
protocols: (
  { name = "R3"; method = "cartesian"; matrix = [64, 64, 1]; encoded = [128, 64, 1]; coils = 20;
    samples = 128; readouts = 21; contrasts = 2; $quiet },
  { name = "nav"; method = "cartesian"; matrix = [64, 64, 1]; encoded = [128, 64, 1]; coils = 20;
    samples = 128; readouts = 64; contrasts = 2; $quiet },
  { name = "full"; method = "cartesian"; matrix = [64, 64, 1]; encoded = [128, 64, 1]; coils = 20;
    samples = 128; readouts = 64; contrasts = 2; $quiet
    image: { output = "complex"; combine = "none"; }; }
);
END
starts

says() { # what, words, where
	if grep -q -- "$2" "$3"; then echo "ok $1: $2"; else
		echo "not ok $1: wanted '$2': $(tail -n 3 "$3")"
	fi
}
written() { [ "$(find "$dir/out" -name '*.h5' | wc -l)" -ge 1 ]; }
while IFS='|' read -r protocol recording words kind; do
	rm -f "$dir"/out/*
	"$BORESIDE" replay -c "$dir/site.cfg" -p "$protocol" --asap $patience \
		"$DATA/scan/$recording.h5" >"$dir/replay.log" 2>&1
	says "$recording: outcome" "outcome: BS_OK: .*$words" "$dir/replay.log"
	await "$BORESIDE" status -c "$dir/site.cfg" --json >"$dir/status.json"
	says "$recording: status" "\"not_used\":\"$words\"" "$dir/status.json"
	says "$recording: status" "$kind" "$dir/status.json"
	await "$BORESIDE" status -c "$dir/site.cfg" >"$dir/status.txt"
	says "$recording: status in words" "$words" "$dir/status.txt"
	"$BORESIDE" recon -c "$dir/site.cfg" -p "$protocol" "$DATA/scan/$recording.h5" \
		-o "$dir/one.h5" >"$dir/recon.log" 2>&1
	says "$recording: recon" "$words" "$dir/recon.log"
	await written
	for h5 in "$dir/one.h5" "$dir"/out/*.h5; do
		strings -n 40 "$h5" >"$dir/text"
		says "$recording: attributes" "boreside_not_used" "$dir/text"
	done
done <<END
R3|prisma2d_R3_acs24|32 of 74 readouts are calibration and this protocol does not use them|\
{"kind":"calibration","used":0,"not_used":32}
nav|prisma2d_nav|16 of 147 readouts are navigation, 3 are phase correction, \
and this protocol does not use them|{"kind":"phase correction","used":0,"not_used":3}
END

# "Exactly the full data" (the recordings' README): the first image of each, contrast 0.
rm -f "$dir"/cfl/*
base=
image() { find "$dir/cfl" -name '*.cfl' | sort | head -n 1; }
has_image() { [ -n "$(image)" ]; }
for recording in prisma2d_dual_20ch prisma2d_reversed prisma2d_nav; do
	rm -f "$dir"/cfl/*
	"$BORESIDE" recon -c "$dir/site.cfg" -p full "$DATA/scan/$recording.h5" \
		-o "$dir/$recording.cfl" >"$dir/recon.log" 2>&1
	[ -n "$base" ] || base=$dir/$recording.cfl
	"$BORESIDE" replay -c "$dir/site.cfg" -p full --asap $patience "$DATA/scan/$recording.h5" \
		>"$dir/replay.log" 2>&1
	await has_image
	for made in "$dir/$recording.cfl" "$(image)"; do
		"$BORESIDE" compare --max-unscaled 1e-6 "$made" "$base" >"$dir/compare.log" 2>&1 &&
			echo "ok $recording: $(
				grep -m 1 unscaled "$dir/compare.log"
			) from the full data" ||
			echo "not ok $recording: $(
				cat "$dir"/{recon,replay,compare}.log | tail -n 5
			)"
	done
done
