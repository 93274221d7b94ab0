#!/bin/bash
# test/selftest/faults.sh [-g] [-s SEED] [-n N] [-j JOBS] [-t SECONDS] [NUMBER...]: faults of the
# host's code that change an image are found by the self-test; -g: of the CUDA code, on a GPU.
# faults.awk plants one in each line of the sources below that can have one: a sign, a weight, a
# call left out (a stale cache, a table that is not made). One build has them all; PLANTED says
# which is in force. They are tried in the order of the seed, JOBS (1) at a time, until N (100) are
# found that change the image of a recording by more than ten times what that protocol's self-test
# allows, or for SECONDS. Prints those that `boreside selftest` does not refuse, and "N of M found":
# of ten nine at least. What it has missed: the brightness of weights, which both sides compute by
# the same function, and what changes an image by parts that its objects lack. NUMBER...: these
# alone. Minutes: .ci/full runs it, but for -g. CUARCH: as the Makefile has it.
# BUILT: a folder with a tree that is built already, which is changed; without it one is made.
# MADE: a folder for the program with the faults. The first run with it builds and ends; later ones,
# on another machine too, take what is there.
set -u
cd "$(dirname "$0")/../.." || exit 1
here=$PWD/test/selftest gpu=0 seed=1 most=100 jobs=1 seconds=0 limit_s=60
while getopts gs:n:j:t: option; do
	case $option in
	g) gpu=1 limit_s=30 ;;
	s) seed=$OPTARG ;;
	n) most=$OPTARG ;;
	j) jobs=$OPTARG ;;
	t) seconds=$OPTARG ;;
	*) sed -n '2,15s/^# //p' "$0"; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
tree=${BUILT:-$dir/tree}
mkdir -p "$tree"
[ -n "${BUILT:-}" ] || [ -x "${MADE:-}/boreside" ] ||
	git ls-files -z | tar --null -T - -c | tar -x -C "$tree"

# SOURCE PROTOCOL...: in whose images it takes part; those after the first are tried where the ones
# before are as they were
cat >"$dir/sources0" <<'END'
gpu/nufft/nufft.c window
gpu/nufft/grid.c volume
gpu/nufft/image.c volume
gpu/nufft/window.c radial
gpu/nufft/sort.c radial
gpu/nufft/density.c volume
gpu/nufft/shape.c radial
gpu/encode/grid.c radial
gpu/encode/exact.c exact
gpu/encode/field.c field
gpu/encode/lines.c lines
gpu/exact/exact.c exact
gpu/exact/loops.h exact
gpu/fft/fft.c lines
gpu/fft/fft_loops.h lines
gpu/fft/pass_loops.h lines
gpu/image/cartesian.c volumelines
gpu/image/combine.c lines
gpu/solve/ls.c sense
gpu/solve/lsq.c ls
gpu/solve/solve.c ls
gpu/solve/segments.c field
gpu/solve/interpolators.c field
gpu/toeplitz/toeplitz.c sense
gpu/toeplitz/q.c ls
core/solve/pcg.c ls
core/traj/make.c volume
core/frame/recon.c window
gpu/engine/host.c window
gpu/engine/filler.c grappa
gpu/grappa/grappa.c grappa
gpu/grappa/gram.c grappa
gpu/grappa/neighbors.c grappa
gpu/grappa/noise.c grappa
gpu/grappa/ends.c grappa
gpu/grappa/slice.c bands
gpu/grappa/separate.c bands
gpu/engine/slicer.c bands
gpu/engine/pattern.c bands
gpu/engine/phases.c epi
gpu/calibrate/echo.c epi
gpu/calibrate/region.c grappa
gpu/calibrate/maps.c unfold
gpu/calibrate/espirit.c unfold
gpu/calibrate/hankel.c unfold
gpu/engine/mapped.c unfold
gpu/image/unfold.c unfold
END
cat >"$dir/sources1" <<'END'
gpu/nufft/cuda/choice.c radial
gpu/nufft/cuda/sectors.c radial volume
gpu/nufft/nufft.cu window volume
gpu/nufft/cuda/run.cu radial window volume
gpu/nufft/cuda/sort.cu radial volume
gpu/nufft/cuda/passes.cu volume radial
gpu/nufft/cuda/borders.cu radial volume
gpu/nufft/cuda/spread_plane.cuh radial window
gpu/nufft/cuda/spread_volume.cuh volume
gpu/nufft/cuda/sample.cuh radial volume
gpu/fft/lines.cu lines volumelines radial
gpu/fft/cuda/dft.cuh lines volumelines radial volume
gpu/fft/cuda/lines.cuh lines volumelines radial volume
gpu/fft/cuda/registers.cuh radial volume lines volumelines
gpu/exact/exact.cu exact
gpu/exact/cuda/table.cuh exact
gpu/exact/cuda/wgmma.cu exact
gpu/image/cartesian.cu lines volumelines grappa bands
gpu/image/combine.cu lines radial sense
gpu/image/unfold.cu unfold
gpu/solve/ls.cu ls sense
gpu/solve/lsq.cu ls sense
gpu/solve/pcg.cu ls sense unfold
gpu/solve/cuda/pcg_kernels.cuh unfold ls sense
gpu/solve/segments.cu field
gpu/toeplitz/flat.cu ls sense
gpu/toeplitz/q.cu ls sense
gpu/toeplitz/cuda/step.cuh ls sense
gpu/toeplitz/cuda/halves.cuh ls sense
gpu/toeplitz/cuda/spectrum.cu ls sense
gpu/engine/cuda/armed.cu radial lines ls sense
gpu/engine/cuda/engine.cu radial lines unfold
gpu/engine/cuda/queue.cu radial window ls
gpu/engine/cuda/upload.cu radial lines grappa
gpu/engine/cuda/mapped.cu unfold
gpu/engine/cuda/unfold.cu unfold
gpu/engine/cuda/operator_exact.cu exact
gpu/grappa/grappa.cu grappa
gpu/grappa/slice.cu bands
gpu/grappa/times.cuh grappa bands
gpu/calibrate/espirit.cu unfold
gpu/calibrate/cuda/projector.cu unfold
END
ln -s "sources$gpu" "$dir/sources"
probe=gpu/device/memory.cu # has bs_gpu_probe, from which each .cu file gets its number (faults.h)

# ---- the build with all of them ----

# the lines that the compiler did not take stand in without; of CUDA more and more above them
plant_all() {
	local first=0 source rest
	: >"$dir/list"
	while read -r source rest; do
		cp -n "$source" "$dir/$(echo "$source" | tr / _)"
		awk -v first=$((first += 1000)) -v file="$source" -v list="$dir/list" \
			-v without=" $(sed -n "s|^$source:||p" "$dir/without" | tr '\n' ' ') " \
			-f "$here/faults.awk" "$dir/$(echo "$source" | tr / _)" >"$dir/planted"
		cmp -s "$dir/planted" "$source" || cp "$dir/planted" "$source"
	done <"$dir/sources"
}
restore() {
	local source
	while read -r source _; do
		cp "$dir/$(echo "$source" | tr / _)" "$source"
	done <"$dir/sources"
	cp "$dir/probe" "$probe"
}
make() {
	NVCC_APPEND_FLAGS="-w -include $here/faults.h" CFLAGS="-include $here/faults.h" \
		command make CC=gcc GPU=$gpu WARN= -j"$(nproc)" "$@"
}
build() {
	cd "$tree" || exit 1
	cp "$probe" "$dir/probe"
	[ $gpu = 0 ] || sed -i '/^int bs_gpu_probe/,/^}/s/^	return 0;/'\
'	BS_CUDA(bs_planted_send(), why);\n&/' "$probe"
	: >"$dir/without"
	[ $gpu = 1 ] || [ -x build/gcc-gpu0/boreside ] ||
		command make CC=gcc GPU=0 -j"$(nproc)" all >"$dir/make" 2>&1
	for round in 0 1 2 3 4 5; do
		plant_all
		make -k all >"$dir/make" 2>&1 && break
		sed -n -E 's|^(\./)?([a-z_/0-9.]+)[:(]([0-9]+)[:)].*error:.*|\2 \3|p' "$dir/make" |
			awk -v up=$((1 + gpu * round ** 4)) '{
				for (i = -up; i <= 1; i++) print $1 ":" $2 + i }' >>"$dir/without"
	done
	if ! make all >"$dir/make" 2>&1; then
		tail -n 20 "$dir/make"
		restore
		echo "not ok the tree with faults is built"
		exit 1
	fi
	cp "build/gcc-gpu$gpu/boreside" "$dir/boreside"
	restore
}
if [ -x "${MADE:-}/boreside" ]; then
	cp "$MADE/boreside" "$MADE/list" "$dir"
else
	build
	if [ -n "${MADE:-}" ]; then
		mkdir -p "$MADE" && cp "$dir/boreside" "$dir/list" "$MADE"
		exit
	fi
fi
BORESIDE=$dir/boreside
echo "# $(wc -l <"$dir/list") faults in $(wc -l <"$dir/sources") sources, seed $seed, $SECONDS s"

# ---- protocols, a recording of each, and its image without a fault ----

cd "$dir" || exit 1
lines='method = "cartesian"; matrix = [40, 36]; encoded = [40, 36, 1]; samples = 40;'
lines="$lines readouts = \"header\"; readouts_max = 36;"
spokes='matrix = [40, 40]; coils = 3; samples = 80; readouts = 64;'
spokes="$spokes gridding: { accuracy = 1e-3; }; trajectory: { type = \"radial2d\"; };"
apart='image: { combine = "none"; output = "complex"; };'
sed "s/LINES/$lines/; s/SPOKES/$spokes/; s/APART/$apart/" "$here/faults.cfg" >whole.cfg
[ $gpu = 0 ] || sed -i 's/method = "/backend = "cuda"; &/' whole.cfg
phantom() { # NAME OPTIONS: a recording
	"$BORESIDE" phantom -c site.cfg -p "$1" -o "$1.h5" "${@:2}" >log 2>&1 || {
		echo "not ok a recording of $1: $(tail -n 1 log)"
		exit 1
	}
}
# the files that two protocols name are made by the phantom: first without them
sed -e 's/method = "sense"/method = "ls"/; s/image: { maps_file = [^}]*};//' \
	-e 's/field: { map_file[^}]*};//' whole.cfg >site.cfg
phantom sense
phantom field --field-hz 60 --dwell-us 20
cp whole.cfg site.cfg
for p in radial volume window ls exact lines volumelines; do
	phantom $p
done
phantom grappa --scanner --accel 2 --calibration separate,24
phantom unfold --scanner --accel 2 --calibration separate,24
phantom bands --scanner --multiband 2 --single-band flagged
phantom epi --scanner --epi --epi-phase 0.7 --epi-shift 0.4
# of a solver the first step, which may be off by as little as sums; its fit may be by 0.3
sed 's/iterations = 10/iterations = 1/' site.cfg >first.cfg
image() { # PROTOCOL OUT: its recording's first image; a process that dies makes none
	rm -f "$2.cfl" "$2.hdr"
	(timeout -k 2 $limit_s "$BORESIDE" recon -c first.cfg -p "$1" "$1.h5" -o "$2.cfl") \
		>/dev/null 2>&1 && [ -s "$2.cfl" ]
}
await_place() { # until fewer than JOBS run
	while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
		wait -n
	done
}
sound() { # PROTOCOL: its image, and what its self-test allows
	image "$1" "sound_$1" || echo "not ok an image of $1"
	"$BORESIDE" selftest -c site.cfg -p "$1" >"said_$1" 2>&1
	sed -n 's/.*passed: off by .*, \(.*\) is allowed.*/\1/p' "said_$1" >"allowed_$1"
	[ -s "allowed_$1" ] || echo "not ok the self-test of $1: $(cat "said_$1")"
}
for p in $(cut -d ' ' -f 2- sources | tr ' ' '\n' | sort -u); do
	await_place
	sound "$p" &
done >sound
wait
if [ -s sound ]; then
	cat sound
	exit 1
fi
# of its two tests the fit allows more; its first step allows what ls's does
cp allowed_ls allowed_exact

# ---- some at a time ----

# changes PROTOCOL: the image is another one, by more than ten times what may be off
changes() {
	image "$1" other || return 1
	local most by=--max-unscaled
	most=$(awk '{ print 10 * $1 }' "../../allowed_$1")
	case $1 in ls | exact | sense) by=--max-nrmse ;; esac # but for the step's size
	! "$BORESIDE" compare $by "$most" other.cfl "sound_$1.cfl" >/dev/null 2>&1
}
# try NUMBER: in a folder of its own; tells in the file try/NUMBER/is what the fault is
try() {
	local source line what p is=harmless
	read -r _ source line what < <(grep "^$1 " list)
	mkdir -p "try/$1"
	cd "try/$1" && ln -s ../../*.cfg ../../*.h5 ../../*.cfl ../../*.hdr . || exit 1
	export PLANTED=$1
	for p in $(sed -n "s|^$source ||p" ../../sources); do
		changes "$p" || continue
		is=found
		(timeout -k 2 $limit_s "$BORESIDE" selftest -c site.cfg -p "$p") >said 2>&1
		case $? in 0 | 124 | 137) # it passes, or has not ended
			is=missed
			echo "# $1, $source:$line, $what, by $p: $(tail -n 1 said)" ;;
		esac
		break
	done
	echo $is >is
}
count() { cat try/*/is 2>/dev/null | grep -c "$1"; }
numbers=("$@")
[ $# -gt 0 ] || mapfile -t numbers < <(cut -d ' ' -f 1 list | while read -r n; do
	echo "$(echo "$seed $n" | sha256sum | cut -c 1-16) $n"
done | sort | cut -d ' ' -f 2)
began=$SECONDS
for n in "${numbers[@]}"; do
	await_place
	[ "$(count found)" -lt "$most" ] || break
	[ "$seconds" -eq 0 ] || [ $((SECONDS - began)) -lt "$seconds" ] || break
	try "$n" 2>/dev/null & # bash says which processes died
done
wait
found=$(count found)
changed=$((found + $(count missed)))
words="$found of $changed planted faults that change an image were found"
words="$words ($(count .) tried, $((SECONDS - began)) s)"
[ "$seconds" -eq 0 ] || most=1
if [ $((10 * found)) -lt $((9 * changed)) ] || { [ $# -eq 0 ] && [ "$found" -lt "$most" ]; }; then
	echo "not ok $words"
	exit 1
fi
echo "ok $words"
