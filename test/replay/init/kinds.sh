#!/bin/bash
# test/replay/init/kinds.sh - boreside init --from a simulated scan of each kind: the site file that
# it writes is valid, and reconstructs that scan: as a plain scan of the same object, or, where the
# scan leaves something out, nearer to that than without the key that makes it.
set -u
. "$(dirname "$0")/init.bash"

grid='--traj cartesian --matrix 64,60 --encoded 128,60 --coils 8'
scan plain $grid && says plain 'readouts = "header"' 'method = "cartesian"' &&
	near plain plain_true.cfl 0.2
same=1e-5 # the order of sums
for kind in "lines --scanner 1" "slices --scanner --slices 3 --slice-order interleaved 3" \
	"average --averages 2 1" "reversed --reversed 1" "dummies --scanner --dummies 3 1" \
	"frames --repetitions 2 --phases 2 --sets 2 8"; do
	set -- $kind
	name=$1 count=${!#}
	shift
	scan "$name" $grid "${@:1:$#-1}" && images "$name" "$count" &&
		{ [ "$name" = slices ] || near "$name" plain.cfl $same; }
done
says slices 'slices = 3;'
says average 'averages = 2;'
tells reversed 'no phase-correction lines came'
scan embedded $grid --accel 2 --calibration embedded,24 && says embedded 'parallel = "grappa"' &&
	better embedded 3 parallel
scan separate $grid --accel 2 --calibration separate,24 && says separate 'parallel = "grappa"' &&
	better separate 3 parallel
scan early $grid --partial-y early,0.75 && says early 'partial_fourier = "pocs"' &&
	better early 1 partial_fourier
scan echo $grid --asymmetry 32 && says echo 'partial_fourier = "pocs"' &&
	better echo 1 partial_fourier
scan both $grid --accel 2 --calibration embedded,24 --partial-y 0.75 &&
	says both 'parallel = "grappa"' 'partial_fourier = "pocs"' &&
	better both 3 parallel partial_fourier
scan train $grid --epi --epi-phase 0.6 && says train 'correct = true' &&
	near train plain.cfl 1e-5 && better train 100 correct
scan ramps $grid --epi --ramp-us 100 && says ramps 'correct = true' && near ramps plain.cfl 4e-3
scan drift $grid --navigators 6 --drift 0.4 && says drift 'navigators = "phase"' &&
	near drift plain.cfl 1e-5 && better drift 100 navigators
scan still $grid --navigators 6 && near still plain.cfl $same
scan noise $grid --scanner --snr 60 --noise-scan 16,256 --noise-spread 3 --noise-correlation 0.5 &&
	says noise 'whiten = "auto"'
scan white $grid --scanner --snr 1000 --noise-scan 16,256 && near white plain.cfl 2e-3 # 1/SNR twice
grep -q '^[^#]*whiten' white.cfg && echo "not ok white noise is whitened" ||
	echo "ok noise that is white already: left as it is"
scan folded $grid --accel 3 && tells folded 'no line of calibration came'
scan volume --traj cartesian --matrix 32,30,16 --encoded 64,30,20 --coils 4 --accel 2,1 \
	--calibration embedded,16,10 && says volume 'parallel = "grappa"' 'matrix = [32, 30, 16]'
scan zeros $grid --recon 96,90 && says zeros 'matrix = [96, 90, 1]'

scan spokes --matrix 48,48 --coils 4 --repetitions 2 &&
	says spokes 'type = "file"' 'density = "ramp"' && images spokes 2
scan angles --matrix 48,48 --coils 4 --repetitions 2 --go-on &&
	says angles 'type = "stream"' && images angles 2 && near angles spokes.cfl 0.02
scan spiral --traj spiral2d --matrix 48,48 --coils 4 --interleaves 8 --samples 600 --readouts 8 \
	--slices 2 && says spiral 'density = "pipe"' 'slices = 2' && images spiral 2
scan stack --traj stack --matrix 32,32,8 --coils 2 --interleaves 4 --samples 500 --readouts 32 &&
	says stack 'matrix = [32, 32, 8]' 'type = "file"' && near stack stack_true.cfl 0.3
scan short --matrix 48,48 --reach 0.2 && tells short 'reaches 0.2 of 0.5 cycles/voxel'
