#!/bin/bash
# test/replay/scan/repeat.sh - replay --repeat: a recording of 3 repetitions becomes a scan of 8,
# whose images are those of the recording in turn; the pace goes on; what cannot come again is
# refused
set -u
. "$(dirname "$0")/../../support/await.bash"
dir=$(mktemp -d /tmp/boreside-test-XXXXXX)
serve=
cleanup() { [ -z "$serve" ] || kill -KILL "$serve" 2>/dev/null; rm -rf "$dir"; }
trap cleanup EXIT
cd "$dir" || exit 1
mkdir -p run out
chmod 750 run
cat >site.cfg <<END
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 2; acq_slots = 64; $patient };
sinks = ( { type = "cfl"; dir = "out"; } );
protocols: (
  { name = "series"; method = "cartesian"; matrix = [32, 32, 1]; encoded = [32, 32, 1];
    coils = 2; samples = 32; $quiet readouts = "header"; slices = 2; }
);
END
phantom() { # RECORDING, options
	"$BORESIDE" phantom --matrix 32,32 --traj cartesian --coils 2 --scanner --slices 2 \
		--snr 20 --name series -o "$@" >phantom.log 2>&1 ||
		echo "not ok phantom: $(cat phantom.log)"
}
phantom three.h5 --repetitions 3
phantom one.h5
"$BORESIDE" serve -c site.cfg 2>serve.log &
serve=$!
"$BORESIDE" status -c site.cfg $ready >/dev/null || echo "not ok the service: $(cat serve.log)"
written() { [ "$(find out -name '*.hdr' | wc -l)" -ge 16 ]; }
made() { find out -name '*.cfl' | sort | sed -n "$(($1 + 1))p"; }

"$BORESIDE" replay -c site.cfg --speed 20 --repeat 8 $patience three.h5 >replay.log 2>&1
grep -q "images 16" replay.log && await written
grep -q 'acquisitions 512, images 16, gaps 0, duplicates 0, rejected 0, late 0' replay.log &&
	[ "$(find out -name '*.cfl' | wc -l)" -eq 16 ] &&
	echo 'ok 8 repetitions of 64 lines: 16 images' ||
	echo "not ok 8 repetitions: $(tail -n 3 replay.log)"
same=0
for i in 2 3 4 5 6 7 8 9 10 11; do # two slices a repetition; the second one is every other one
	cmp -s "$(made $i)" "$(made $((i + 4)))" && same=$((same + 1))
done
for i in 0 2 4; do
	cmp -s "$(made $i)" "$(made $((i + 2)))" && same=-99
done
[ $same -eq 10 ] && echo 'ok the second and third repetition take turns, bit for bit' ||
	echo "not ok repetitions in turn: $same of 10"
# 8 x 64 lines, 2.128 ms apart, at 20 times their pace: no line before its time
awk '/acquisitions, .* MB in/ { for (i = 1; i < NF; i++) if ($i == "in") s = $(i + 1) }
	END { print (s >= 0.053 ? "ok" : "not ok"), "the scan takes its time:", s, "s" }' replay.log
refused=$("$BORESIDE" replay -c site.cfg --repeat 8 one.h5 2>&1)
grep -q 'one repetition' <<<"$refused" && echo "ok $refused" || echo "not ok refused: $refused"
