#!/bin/bash
# test/bench/stream/answers.sh [REPETITIONS]: how long an answer takes, from the last sample of its
# readout received to the answer handed to the sender's socket: frequency, phase and shift of a
# navigator before each second line, 8 channels of 128 samples, beside the reconstruction. As
# `boreside status --latency` counts it (stage answer). BORESIDE: the program.
set -eu
: "${BORESIDE:?}"
dir=$(mktemp -d)
trap 'kill $serve 2>/dev/null || true; rm -rf "$dir"' EXIT
cd "$dir"
row() { echo "{ on = \"cart\"; what = \"$1\"; deadline_ms = 60000.0; }"; }
cat >site.cfg <<CFG
node: { name = "bench"; run_dir = "run"; cache_dir = ""; };
endpoints: { archive = ""; viewers = ""; };
answers = ( $(row frequency), $(row phase), $(row shift) );
protocols = ( { name = "cart"; method = "cartesian"; matrix = [128, 128]; encoded = [256, 128, 1];
	coils = 8; samples = 256; readouts = 128; } );
CFG
"$BORESIDE" phantom -c site.cfg -p cart --repetitions "${1:-40}" --navigators 2 --snr 20 \
	-o scan.h5 >/dev/null
"$BORESIDE" serve -c site.cfg 2>log &
serve=$!
until "$BORESIDE" status -c site.cfg >/dev/null 2>&1; do sleep 0.2; done
"$BORESIDE" replay -c site.cfg -p cart --answers told.txt scan.h5 | tail -n 3
echo "$(nproc) processors, load $(cut -d ' ' -f 1 /proc/loadavg)"
"$BORESIDE" status -c site.cfg --latency | grep -E 'stage|answer|receive'
"$BORESIDE" status -c site.cfg --json | grep -oE '"answers(_late)?":[0-9]+' | head -n 2
