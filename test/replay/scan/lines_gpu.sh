#!/bin/bash
# test/replay/scan/lines_gpu.sh - accelerated Cartesian scans by the CUDA engines, through the
# service and by recon: the host's images within 1e-5, the same bytes in both and in every run
#
# GRAPPA, SENSE, partial Fourier behind them, maps made from the scan, coil compression before them,
# an image of its own matrix, priors, budgets that are measured when armed. lambda keeps the
# condition of what is solved below a hundred, so that float rounding is carried on as it is.
set -u
. "$(dirname "$0")/../../support/scratch.bash"
if ! nvidia-smi -L >/dev/null 2>&1 || "$BORESIDE" --version | grep -q 'CUDA not built in'; then
	echo "skip Cartesian scans on a GPU: there is none, or none in this build"
	exit 0
fi
cd "$dir" || exit 1
mkdir -p run out
chmod 750 run
flat='method = "cartesian"; matrix = [96, 90, 1]; encoded = [192, 90, 1]; coils = 8;'
slab='method = "cartesian"; matrix = [32, 33, 20]; encoded = [40, 33, 20]; coils = 6;'
maps='image: { combine = "sense"; maps = "walsh"; };'
grappa='parallel = "grappa";'
sense='parallel = "sense"; image: { maps = "espirit"; }; ls: { lambda = 2e-2; iterations = 12; };'
large='parallel = "sense"; image: { maps = "walsh"; matrix = [120, 120, 1]; };
	ls: { lambda = 2e-2; iterations = 12; };'
pocs='partial_fourier = "pocs";'
budget='budget: { image_ms = 5000.0; calibration_ms = 5000.0; on_miss = "shed"; };'
site() { # BACKEND
	local all="backend = \"$1\"; readouts = \"header\"; $quiet"
	cat >"$1.cfg" <<END
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 2; acq_slots = 64; $patient };
sinks = ( { type = "cfl"; dir = "out"; } );
protocols: (
  { name = "maps"; $flat $all samples = 192; $maps },
  { name = "grappa"; $flat $all samples = 192; $grappa $budget },
  { name = "virtual"; $flat $all samples = 192; $grappa virtual_coils = 5; },
  { name = "grappa_pocs"; $flat $all samples = 192; $grappa $pocs },
  { name = "sense"; $flat $all samples = 192; $sense $budget },
  { name = "large"; $flat $all samples = 192; $large },
  { name = "sense_pocs"; $flat $all samples = 144; $sense $pocs },
  { name = "slab_grappa"; $slab $all samples = 40; $grappa },
  { name = "slab_sense"; $slab $all samples = 40; $sense },
  { name = "wavelet"; $flat $all samples = 192; $sense $budget
    solve: { prior = "wavelet"; lambda = 0.1; }; },
  { name = "slab_tv"; $slab $all samples = 40; $sense solve: { prior = "tv"; lambda = 0.1; }; }
);
END
}
site host
site cuda
phantom() { # RECORDING, options
	"$BORESIDE" phantom --traj cartesian --snr 60 -o "$@" >phantom.log 2>&1 ||
		echo "not ok phantom $*: $(tail -n 1 phantom.log)"
}
size=(--matrix 96,90 --encoded 192,90 --samples 192 --coils 8)
phantom whole.h5 "${size[@]}" --scanner
phantom lines.h5 "${size[@]}" --accel 2 --calibration embedded,24
phantom ends.h5 "${size[@]}" --accel 2 --calibration embedded,24 --partial-y 0.75
phantom echo.h5 "${size[@]}" --accel 2 --calibration embedded,24 --asymmetry 48
phantom slab.h5 --matrix 32,33,20 --encoded 40,33,20 --samples 40 --coils 6 --accel 2,2 \
	--calibration embedded,16,12

recon() { # backend, protocol, recording
	"$BORESIDE" recon -c "$1.cfg" -p "$2" "$3.h5" -o "$1.cfl" >"$1.log" 2>&1 ||
		echo "not ok $2 of $3 on $1: $(tail -n 1 "$1.log")"
}
"$BORESIDE" serve -c cuda.cfg 2>serve.log &
serve=$!
"$BORESIDE" status -c cuda.cfg $ready >/dev/null
written() { [ -n "$(find out -name '*.hdr')" ]; }
while read -r protocol recording engine; do
	recon host "$protocol" "$recording"
	recon cuda "$protocol" "$recording"
	grep -q "$engine" cuda.log || echo "not ok $protocol: $(tail -n 1 cuda.log)"
	said=$("$BORESIDE" compare --max-unscaled 1e-5 cuda.cfl host.cfl 2>&1) &&
		echo "ok $protocol: $engine: $(echo "$said" | grep -m 1 unscaled)" ||
		echo "not ok $protocol against the host: $said"
	rm -f out/*
	"$BORESIDE" replay -c cuda.cfg -p "$protocol" --asap $patience "$recording.h5" \
		>replay.log 2>&1 ||
		echo "not ok $protocol through the service: $(tail -n 1 replay.log)"
	await written
	cmp -s cuda.cfl "$(find out -name '*.cfl' | head -n 1)" &&
		echo "ok $protocol through the service: the bytes of recon" ||
		echo "not ok $protocol through the service: other bytes"
done <<END
maps        whole cartesian/cuda
grappa      lines cartesian/cuda
virtual     lines cartesian/cuda
grappa_pocs ends  cartesian/cuda
sense       lines unfold/cuda
large       lines unfold/cuda
sense_pocs  echo  unfold/cuda
slab_grappa slab  cartesian/cuda
slab_sense  slab  unfold/cuda
wavelet     lines prox/cuda
slab_tv     slab  prox/cuda
END
ends
