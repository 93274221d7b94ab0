#!/bin/sh
# test/device/certify_gpu.sh SECONDS [BORESIDE] [FOLDER] [CASES]
# The budgets of config/certify_gpu.cfg on a machine with a GPU, each SECONDS long, without a load
# and beside cpu, io and gpu loads; one table at the end.
#   BORESIDE  a program built with GPU=1 (build/gcc-gpu1/boreside)
#   FOLDER    where recordings and certificates go (certify-gpu)
#   CASES     protocols, quoted ("radial_256 sense_256 ls_128 noop_256 window_256 wavelet_256")
# Needs this file, the site file and the program, nothing else. A case that fails does not end the
# others; the exit status is the number of budgets that did not hold without a load.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
seconds=${1:?usage: certify_gpu.sh SECONDS [BORESIDE] [FOLDER] [CASES]}
boreside=${2:-$here/build/gcc-gpu1/boreside}
out=${3:-certify-gpu}
cases=${4:-radial_256 sense_256 ls_128 noop_256 window_256 wavelet_256}
mkdir -p "$out/run" "$out/cache" || exit 1
chmod 750 "$out/run"
cp "$here/config/certify_gpu.cfg" "$out/site.cfg" || exit 1
: >"$out/summary.txt"
failed=0

phantom() { # phantom FILE OPTIONS...
	file=$out/$1
	shift
	[ -f "$file" ] || "$boreside" phantom "$@" -o "$file" || echo "certify_gpu: no $file"
}
# 200 frames a second for two seconds, over and over; sense and noop take the same stream
phantom radial_256.h5 --traj radial2d --matrix 256,256 --coils 8 --samples 512 --readouts 34 \
	--repetitions 400 --tr-us 147 --dwell-us 0.2 --name radial_256
recording() { # the recording of a protocol
	case $1 in
	ls_128) echo ls_128.h5 ;;
	window_256) echo window_256.h5 ;;
	wavelet_256) echo wavelet_256.h5 ;;
	*) echo radial_256.h5 ;;
	esac
}
for p in $cases; do
	case $p in
	ls_128)
		phantom ls_128.h5 --traj radial3d --matrix 128,128,128 --coils 1 --samples 256 \
			--readouts 1112 --repetitions 4 --tr-us 1000 --dwell-us 3 --name ls_128
		;;
	window_256)
		phantom window_256.h5 --traj radial2d --matrix 256,256 --coils 8 --samples 512 \
			--readouts 256 --repetitions 8 --tr-us 1250 --dwell-us 2 --name window_256
		;;
	wavelet_256)
		phantom wavelet_256.h5 --traj cartesian --matrix 256,256 --coils 8 --accel 2 \
			--calibration separate,24 --repetitions 100 --tr-us 312 --dwell-us 0.5 \
			--snr 20 --name wavelet_256
		;;
	esac
done

certify() { # certify PROTOCOL LABEL OPTIONS...
	p=$1 label=$2
	shift 2
	echo "== $p, load $label"
	line=$("$boreside" certify -c "$out/site.cfg" -p "$p" --seconds "$seconds" --alone \
		-o "$out/$p-$label" "$@" "$out/$(recording "$p")" 2>&1)
	status=$?
	echo "$line"
	printf '%s\n' "$line" >"$out/$p-$label.txt"
	while IFS= read -r l; do
		case $l in
		"$p: "*) echo "[$label] $l" >>"$out/summary.txt" ;;
		esac
	done <"$out/$p-$label.txt"
	[ $status -eq 0 ] || [ "$label" != none ] || failed=$((failed + 1))
	[ $status -eq 0 ] || echo "[$label] $p: exit status $status" >>"$out/summary.txt"
}

echo "== what arming would say"
"$boreside" check --measure "$out/site.cfg" >"$out/measure.txt" 2>&1 ||
	echo "check --measure: status $?"
show=
while IFS= read -r l; do
	case $l in
	*", measured ("*) show=1 ;;
	esac
	[ -z "$show" ] || echo "$l"
done <"$out/measure.txt"
for p in $cases; do
	certify "$p" none
done
for p in $cases; do
	certify "$p" gpu --load gpu
done
for p in $cases; do
	certify "$p" cpu-io --load cpu,io
done
echo "== summary, $seconds s each"
while IFS= read -r l; do
	echo "$l"
done <"$out/summary.txt"
exit $failed
