#!/bin/bash
# test/replay/scan/averages.sh - scans that measure each line several times: one image of their
# mean, in the service as in recon, by the header, by a number, unfolded, whitened, compressed,
# corrected by navigators; averages that are kept apart; what lacks, in words; repetitions, sets and
# phases of slices in turn are images of their own
#
# The noise of the mean of 4 is half that of each: of the 8192 values of an image and its mean
# each spread has a standard deviation below 1 %, their ratio 1.4 %; 6 % is four of these.
# Holds: W48, W49
set -u
. "$(dirname "$0")/../../support/scratch.bash"
cd "$dir" || exit 1
mkdir out
grid='method = "cartesian"; matrix = [64, 64, 1]; encoded = [128, 64, 1]; coils = 4; samples = 128;'
grid+=" $quiet"' readouts = "header";'
apart='image: { combine = "none"; output = "complex"; };'
cat >site.cfg <<END
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 2; acq_slots = 64; $patient };
sinks = ( { type = "cfl"; dir = "out"; } );
protocols: (
  { name = "mean"; $grid averages = 4; slices = 3; $apart },
  { name = "apart"; $grid slices = 3; $apart },
  { name = "few"; $grid averages = 3; slices = 3; },
  { name = "number"; method = "cartesian"; matrix = [64, 64, 1]; encoded = [128, 64, 1]; coils = 4;
    samples = 128; readouts = 64; averages = 4; slices = 3; $quiet },
  { name = "grappa"; $grid averages = 2; parallel = "grappa"; virtual_coils = 3;
    noise: { whiten = "require"; }; },
  { name = "sense"; $grid averages = 2; parallel = "sense"; image: { maps = "espirit"; }; },
  { name = "steady"; $grid averages = 4; $apart },
  { name = "drift"; $grid averages = 4; navigators = "phase"; $apart },
  { name = "epi"; $grid averages = 4; epi: { correct = true; }; $apart },
  { name = "turns"; $grid slices = 3; },
  { name = "four"; $grid slices = 4; }
);
END
phantom() { # RECORDING, options
	"$BORESIDE" phantom --matrix 64,64 --samples 128 --encoded 128,64 --fov-mm 200,200,5 \
		--traj cartesian --coils 4 --scanner -o "$@" >phantom.log 2>&1 ||
		echo "not ok phantom $*: $(tail -n 1 phantom.log)"
}
turns='--slices 3 --slice-order each-tr'
phantom noisy.h5 $turns --averages 4 --snr 20
phantom still.h5 $turns
phantom R2.h5 --averages 2 --accel 2 --calibration embedded,16 --snr 50 --noise-scan 8,256
phantom steady.h5 --averages 4
phantom drift.h5 --averages 4 --navigators 8 --drift 0.3
phantom epi.h5 --averages 4 --epi --epi-phase 0.7
phantom woven.h5 --slices 4 --slice-order interleaved
phantom ascending.h5 --slices 4
phantom turns.h5 $turns --repetitions 2 --sets 2 --phases 2

starts

made() { find "$1" -name '*.cfl' | sort | sed -n "$(($2 + 1))p"; }
recon() { # protocol, recording, folder
	mkdir -p "$3"
	"$BORESIDE" recon -c site.cfg -p "$1" "$2.h5" -o "$3/i-0001.cfl" >recon.log 2>&1
	for f in "$3"/i-0001-*; do
		[ ! -e "$f" ] || mv "$f" "${f/i-0001-/i-}"
	done
}
# protocol, recording, folder, images: through both ways; the images' bytes, the outcome's books
both() {
	recon "$1" "$2" "$3"
	rm -f out/*
	"$BORESIDE" replay -c site.cfg -p "$1" --asap $patience "$2.h5" >replay.log 2>&1
	written() { [ "$(find out -name '*.hdr' | wc -l)" -ge "$4" ]; }
	await written "$@"
	local same=0 i
	for ((i = 0; i < $4; i++)); do
		cmp -s "$(made "$3" $i)" "$(made out $i)" && same=$((same + 1))
	done
	if [ "$same" -eq "$4" ] &&
		[ "$(find out "$3" -name '*.cfl' | wc -l)" -eq $((2 * $4)) ]; then
		echo "ok $2 by $1: $4 images, the same in both, bit for bit"
	else
		echo "not ok $2 by $1: $same of $4 images: $(tail -n 2 recon.log replay.log)"
	fi
}
says() { # words, pattern, file
	grep -Eq "$2" "$3" && echo "ok $1" || echo "not ok $1: $(tail -n 2 "$3")"
}
near() { # words, image, reference, most
	"$BORESIDE" compare --max-unscaled "$4" "$2" "$3" >compare.log 2>&1 &&
		echo "ok $1: $(grep -m 1 unscaled compare.log)" ||
		echo "not ok $1: wanted $4: $(tail -n 2 compare.log)"
}

both mean noisy mean 3
says 'the outcome has every readout, and three images' \
	'acquisitions 768, images 3, gaps 0, duplicates 0, rejected 0' replay.log
both apart noisy apart 12
recon apart still still
for i in 0 1 2; do
	"$BORESIDE" compare "$(made mean $i)" "$(made still $i)" >a.log
	"$BORESIDE" compare "$(made apart $i)" "$(made still $i)" >b.log
	awk -v i=$i '/unscaled/ { match($0, /NRMSE [0-9.e+-]*/)
			v[n++] = substr($0, RSTART + 6) + 0 }
		END { r = v[0] / v[1]; print (r > 0.47 && r < 0.53 ? "ok" : "not ok"), "slice", i \
			": noise of the mean of 4 over that of one:", r }' a.log b.log
done
both number noisy number 3
says 'a header that promises more averages than the protocol sums is refused' \
	'averages 0 to 3 of each line, averages of protocol .few. is 3' \
	<("$BORESIDE" recon -c site.cfg -p few noisy.h5 -o x.cfl 2>&1)
"$BORESIDE" replay -c site.cfg -p few --asap $patience noisy.h5 >few.log 2>&1
says 'by the service, too' 'averages 0 to 3 of each line' few.log
"$BORESIDE" replay -c site.cfg -p mean --asap --limit 700 $patience noisy.h5 >torn.log 2>&1
says 'a scan that ends early: what lacks of the first slice' \
	'2[23] of 256 readouts did not come' torn.log

both grappa R2 grappa 1
both sense R2 sense 1
recon steady steady steady
both drift drift drift 1
near 'navigators are taken off before the mean' "$(made drift 0)" "$(made steady 0)" 1e-5
both epi epi epi 1
near 'reversed lines are corrected before the mean' "$(made epi 0)" "$(made steady 0)" 1e-5
both turns turns turns 24
both four woven woven 4
recon four ascending ascending
same=0
for i in 0 1 2 3; do # images come as slices are complete
	cmp -s "$(made woven $i)" "$(made ascending $((2 * (i % 2) + (i < 2))))" &&
		same=$((same + 1))
done
[ $same -eq 4 ] && echo "ok interleaved slices 1, 3, 0, 2: each the one of the scan in order" ||
	echo "not ok interleaved slices: $same of 4"
ends
