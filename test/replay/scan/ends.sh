# test/replay/scan/ends.sh - accelerated scans that end early along lines, partitions or the
# readout: unfolded by GRAPPA or SENSE, then completed by projections; in the service as in recon,
# complete, and so much nearer to the whole scan than with zeros
#
# Bounds: error by projections over that with zeros. Of the same scans without acceleration it is
# 0.36 (late lines), 0.68 (early lines: the outermost has no mirror image that was measured), 0.30
# (asymmetric echo) and 0.40 (partitions); unfolding adds an error of its own.
set -u
. "$(dirname "$0")/../../support/scratch.bash"
cd "$dir" || exit 1
mkdir out
flat='method = "cartesian"; matrix = [96, 96, 1]; encoded = [192, 96, 1]; coils = 8;'
slab='method = "cartesian"; matrix = [32, 32, 24]; encoded = [40, 32, 24]; coils = 8;'
all="$quiet"' readouts = "header";'
grappa='parallel = "grappa";'
sense='parallel = "sense"; image: { maps = "espirit"; }; ls: { lambda = 1e-4; iterations = 50; };'
pocs='partial_fourier = "pocs";'
cat >site.cfg <<END
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 2; acq_slots = 64; $patient };
sinks = ( { type = "cfl"; dir = "out"; } );
protocols: (
  { name = "flat"; $flat $all samples = 192; },
  { name = "slab"; $slab $all samples = 40; },
  { name = "lines_grappa"; $flat $all samples = 192; $grappa },
  { name = "lines_grappa_pocs"; $flat $all samples = 192; $grappa $pocs },
  { name = "lines_sense"; $flat $all samples = 192; $sense },
  { name = "lines_sense_pocs"; $flat $all samples = 192; $sense $pocs },
  { name = "echo_grappa"; $flat $all samples = 144; $grappa },
  { name = "echo_grappa_pocs"; $flat $all samples = 144; $grappa $pocs },
  { name = "echo_sense"; $flat $all samples = 144; $sense },
  { name = "echo_sense_pocs"; $flat $all samples = 144; $sense $pocs },
  { name = "parts_grappa"; $slab $all samples = 40; $grappa },
  { name = "parts_grappa_pocs"; $slab $all samples = 40; $grappa $pocs },
  { name = "parts_sense"; $slab $all samples = 40; $sense },
  { name = "parts_sense_pocs"; $slab $all samples = 40; $sense $pocs }
);
END
phantom() { # RECORDING, options
	"$BORESIDE" phantom --traj cartesian --coils 8 -o "$@" >phantom.log 2>&1 ||
		echo "not ok phantom $*: $(tail -n 1 phantom.log)"
}
size=(--matrix 96,96 --encoded 192,96 --samples 192)
phantom flat.h5 "${size[@]}" --scanner
phantom lines.h5 "${size[@]}" --accel 2 --calibration embedded,24 --partial-y 0.75
phantom early.h5 "${size[@]}" --accel 2 --calibration embedded,24 --partial-y early,0.75
phantom echo.h5 "${size[@]}" --accel 2 --calibration embedded,24 --asymmetry 48
size=(--matrix 32,32,24 --encoded 40,32,24 --samples 40)
phantom slab.h5 "${size[@]}" --scanner
phantom parts.h5 "${size[@]}" --accel 2 --calibration embedded,16,12 --partial-z 0.75

starts

recon() { # protocol, recording, image
	"$BORESIDE" recon -c site.cfg -p "$1" "$2.h5" -o "$3.cfl" >recon.log 2>&1 ||
		echo "not ok $2 by $1: $(tail -n 1 recon.log)"
}
recon flat flat whole_flat
recon slab slab whole_slab
while read -r recording protocol whole most; do
	recon "$protocol" "$recording" zeros
	recon "${protocol}_pocs" "$recording" completed
	rm -f out/*
	"$BORESIDE" replay -c site.cfg -p "${protocol}_pocs" --asap $patience "$recording.h5" \
		>replay.log 2>&1
	written() { [ -n "$(find out -name '*.hdr')" ]; }
	await written
	if cmp -s completed.cfl "$(find out -name '*.cfl')" &&
		! grep -q partial recon.log replay.log
	then
		echo "ok $recording by ${protocol}_pocs: complete, the same in both, bit for bit"
	else
		echo "not ok $recording by ${protocol}_pocs: $(tail -n 2 recon.log replay.log)"
	fi
	for i in zeros completed; do
		"$BORESIDE" compare $i.cfl "$whole.cfl"
	done | awk -v what="$recording by $protocol" -v most="$most" '
		/unscaled/ { v[n++] = $3 }
		END { printf "%s %s: error %.2e, with zeros %.2e: %.2f, at most %s\n", \
			v[1] <= most * v[0] ? "ok" : "not ok", what, v[1], v[0], v[1] / v[0], \
			most }'
done <<END
lines lines_grappa whole_flat 0.55
lines lines_sense  whole_flat 0.6
early lines_grappa whole_flat 0.75
early lines_sense  whole_flat 0.8
echo  echo_grappa  whole_flat 0.45
echo  echo_sense   whole_flat 0.6
parts parts_grappa whole_slab 0.9
parts parts_sense  whole_slab 0.9
END
ends
