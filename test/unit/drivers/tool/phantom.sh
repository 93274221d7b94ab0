# test/unit/drivers/tool/phantom.sh - boreside phantom's options: what it makes, what it refuses
. "$(dirname "$0")/../../../support/scratch.bash"
command=phantom

expect 2 "-o RECORDING.h5 is missing" -- --matrix 32,32
expect 2 "matrix" -- -o "$dir/a.h5"
expect 2 ": not \|no such\|must be" -- --matrix 32 -o "$dir/a.h5"
expect 2 ": not \|no such\|must be" -- --matrix 32x32x32x32 -o "$dir/a.h5"
expect 2 ": not \|no such\|must be" -- --matrix 513x32 -o "$dir/a.h5"
expect 2 ": not \|no such\|must be" -- --matrix 32x32 --coils 0 -o "$dir/a.h5"
expect 2 "coils" -- --matrix 32x32 --coils 65 -o "$dir/a.h5"
expect 2 ": not \|no such\|must be" -- --matrix 32x32 --traj rosette -o "$dir/a.h5"
expect 2 ": not \|no such\|must be" -- --matrix 32x32 --snr nan -o "$dir/a.h5"
expect 2 ": not \|no such\|must be" -- --matrix 32x32 --motion 0.5 -o "$dir/a.h5"
expect 2 ": not \|no such\|must be" -- --matrix 32x32 --motion 1,4 -o "$dir/a.h5"
expect 2 ": not \|no such\|must be" -- --matrix 32x32 --motion 0.5,0 -o "$dir/a.h5"
expect 2 ": not \|no such\|must be" -- --matrix 32x32 --echoes 4 -o "$dir/a.h5"
expect 2 "samples" -- --matrix 32x32 --traj spiral2d -o "$dir/a.h5"
expect 2 "go together" -- -c x.cfg -o "$dir/a.h5"
expect 2 "sizes come from" -- -c x.cfg -p y --coils 2 -o "$dir/a.h5"
lines="--matrix 32x24 --traj cartesian -o $dir/a.h5"
expect 2 "accel" -- $lines --accel 0
expect 2 "accel" -- $lines --accel 2,3,3
expect 2 "accel" -- $lines --accel 2x
expect 2 "calibration" -- $lines --calibration embedded
expect 2 "calibration" -- $lines --calibration external,4
expect 2 "partial-y" -- $lines --partial-y 0.5
expect 2 "partial-z" -- $lines --partial-z late,0.7
expect 2 "asymmetry" -- $lines --asymmetry 17
expect 2 "slice-order" -- $lines --slice-order random
expect 2 "drift" -- $lines --drift 101
expect 2 "object" -- $lines --object foot
expect 2 "position-mm" -- $lines --position-mm 1,2
expect 2 "oblique" -- $lines --oblique 1
expect 2 "spacing-mm" -- $lines --spacing-mm 0
expect 2 "encoded" -- $lines --encoded 32,20
expect 2 "readouts" -- $lines --accel 2 --readouts 12
expect 2 "cartesian" -- --matrix 32x32 -o "$dir/a.h5" --accel 2
expect 2 "snr" -- $lines --noise-scan 4,64
expect 2 "noise-scan" -- $lines --snr 9 --noise-only
expect 2 "noise-scan" -- $lines --snr 9 --noise-scan 4,64,2
expect 2 "noise-spread" -- $lines --snr 9 --noise-spread 0.5
expect 2 "noise-correlation" -- $lines --snr 9 --noise-correlation 1
expect 2 "coil-turn" -- $lines --coil-turn 400
expect 2 "phases" -- $lines --phases 0
expect 2 "epi-phase" -- $lines --epi --epi-phase 8
expect 2 "go with --epi" -- $lines --ramp-us 80
expect 2 "go with --epi" -- $lines --epi-drift 0.1
expect 2 "not 2 to 16 slices" -- $lines --multiband 1
expect 2 "not 2 to 16 slices" -- $lines --multiband 2,0.5
for kind in first,8 blipped-none flagged,0 once; do
	expect 2 "nor none" -- $lines --slices 4 --multiband 2 --single-band $kind
done
expect 1 "no groups of 2 bands" -- $lines --slices 3 --multiband 2
expect 1 "there is no other" -- $lines --slices 4 --multiband 2 --single-band first
expect 1 "do not turn" -- $lines --slices 4 --multiband 2 --coil-turn 10
expect 2 "rising times" -- $lines --te-ms 5,4
expect 2 "field-hz" -- $lines --field-hz 1e6
expect 2 "three numbers" -- --matrix 32x32 -o "$dir/a.h5" --delay 0.1,0.2
expect 1 "radial2d" -- $lines --delay 0.1,0.2,0
expect 1 "backwards" -- $lines --field-hz 50 --reversed
expect 1 "2D scan" -- --matrix 32x24x16 --traj cartesian -o "$dir/a.h5" --epi
expect 1 "flat part" -- $lines --epi --ramp-us 90
expect 1 "acceleration" -- $lines --accel 1,2
expect 1 "calibration lines" -- $lines --calibration embedded,25
expect 1 "x.cfg" -- -c "$dir/x.cfg" -p y -o "$dir/a.h5"
expect 1 "dimensions" -- --matrix 32x32 --traj cones --samples 9 --readouts 9 -o "$dir/a.h5"
expect 1 "interleaves" -- --matrix 32x32x16 --traj stack --samples 9 --readouts 9 -o "$dir/a.h5"
expect 1 "none/a.h5" -- --matrix 32x32 -o "$dir/none/a.h5"
[ ! -e "$dir/a.h5" ] && echo "ok nothing refused left a file" || echo "not ok a.h5 exists"
expect 0 "51 readouts of 64 samples, 2 coils" -- --matrix 32x32 --coils 2 -o "$dir/a.h5"
for f in a.h5 a_true.cfl a_true.hdr a_maps.cfl a_maps.hdr; do
	[ -s "$dir/$f" ] && echo "ok $f" || echo "not ok $f is missing"
done

# the lines that the options leave: 8 of 24 and 8 more in the middle, 3 navigators, 16 of noise
expect 0 "b.h5: 35 acquisitions, lines of 56 samples" -- --matrix 32x24 --traj cartesian --coils 2 \
	--samples 64 --asymmetry 8 --accel 3 --calibration embedded,12 --navigators 6 --snr 20 \
	--noise-scan 16,64 --noise-spread 3 --object marker -o "$dir/b.h5"
expect 0 "f.h5: 27 acquisitions" -- --matrix 32x24 --traj cartesian --epi --epi-phase -0.3 \
	--epi-shift 0.4 --dwell-us 5 --ramp-us 40 -o "$dir/f.h5"
# 4 references of 8 lines and 3, then 2 x 2 groups of 12 lines and 3
expect 0 "m.h5: 104 acquisitions" -- --matrix 32x24 --traj cartesian --epi --slices 4 --accel 2 \
	--multiband 2 --single-band blipped-flagged,8 --repetitions 2 -o "$dir/m.h5"
expect 0 "2 x 6 readouts" -- --matrix 32x24 --traj spiral2d --samples 400 --readouts 6 --echoes 2 \
	--te-ms 2,4.5 --field-hz 80 -o "$dir/b.h5"
for f in b_true b_maps b_psi b_psi_lines b_field; do
	[ -s "$dir/$f.cfl" ] && echo "ok $f" || echo "not ok $f is missing"
done

cat >"$dir/site.cfg" <<'END'
node: { run_dir = "run"; cache_dir = ""; };
protocols = ( { name = "head"; method = "gridding"; matrix = [32, 32, 16]; coils = 2;
	samples = 200; readouts = 48; trajectory: { type = "stack"; }; } );
END
expect 0 "2 x 48 readouts of 200 samples, 2 coils" -- -c "$dir/site.cfg" -p head --repetitions 2 \
	-o "$dir/b.h5"
expect 1 "no protocol 'foot'" -- -c "$dir/site.cfg" -p foot -o "$dir/b.h5"
expect 0 "3 x 51 readouts" -- --matrix 32x32 --repetitions 3 --motion 0.4,2 -o "$dir/moves.h5"
expect 0 "3 x 51 readouts" -- --matrix 32x32 --repetitions 3 -o "$dir/rests.h5"
cat >"$dir/moves.cfg" <<'END'
node: { run_dir = "run"; cache_dir = ""; };
protocols = ( { name = "p"; method = "gridding"; matrix = [32, 32]; coils = 1; samples = 64;
	readouts = 51; trajectory: { type = "radial2d"; }; } );
END
for f in moves rests; do
	"$BORESIDE" recon -c "$dir/moves.cfg" -p p "$dir/$f.h5" -o "$dir/$f.cfl" >/dev/null 2>&1
done
for i in .cfl -0002.cfl -0003.cfl; do # a period is two frames: the first is that of the third
	cmp -s "$dir/rests.cfl" "$dir/rests$i" && echo "ok at rest, image$i is that of the first" ||
		echo "not ok at rest, image$i differs from the first"
done
# apart A B: the relative difference of two images, above ("+") or below ("-") 1e-5
apart() {
	"$BORESIDE" compare "$dir/$1" "$dir/$2" |
		awk '/^unscaled/ { seen = 1; print $3 < 1e-5 ? "-" : "+" }
			END { if (!seen) print "?" }'
}
got="$(apart moves-0003.cfl moves.cfl)$(apart moves-0002.cfl moves.cfl)$(apart moves.cfl rests.cfl)"
[ "$got" = "-++" ] && echo "ok what beats comes back after a period" ||
	echo "not ok the images of what beats: $got, not -++"
