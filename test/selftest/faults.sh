#!/bin/bash
# test/selftest/faults.sh [-s SEED] [-n N] [NUMBER...]: faults of the host's code that change an
# image are found by the self-test. faults.awk plants one in each line of the sources below that can
# have one: a sign, a weight, a call left out (a stale cache, a table that is not made). One build
# has them all; PLANTED says which is in force. They are tried in the order of the seed until N
# (100) are found that change the image of a recording by more than ten times what that protocol's
# self-test allows. Prints those that `boreside selftest` does not refuse, and "N of M found": of
# ten nine at least. What it has missed: the brightness of weights, which both sides compute by the
# same function, and what changes an image by parts that its objects lack. NUMBER...: these alone.
# Minutes: .ci/full runs it.
# BUILT: a folder with a tree that is built already, which is changed; without it one is made.
set -u
cd "$(dirname "$0")/../.." || exit 1
here=$PWD/test/selftest seed=1 most=100
while getopts s:n: option; do
	case $option in
	s) seed=$OPTARG ;;
	n) most=$OPTARG ;;
	*) sed -n '2,11s/^# //p' "$0"; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
tree=${BUILT:-$dir/tree}
mkdir -p "$tree"
[ -n "${BUILT:-}" ] || git ls-files -z | tar --null -T - -c | tar -x -C "$tree"

# SOURCE PROTOCOL: in whose images it takes part
cat >"$dir/sources" <<'END'
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

# ---- the build with all of them ----

cd "$tree" || exit 1
plant_all() { # the lines that the compiler did not take stand in without
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
}
: >"$dir/without"
make() { CFLAGS="-include $here/faults.h" command make CC=gcc GPU=0 WARN= -j"$(nproc)" "$@"; }
[ -x build/gcc-gpu0/boreside ] ||
	command make CC=gcc GPU=0 -j"$(nproc)" all >"$dir/make" 2>&1
for _ in 1 2 3 4 5 6; do
	plant_all
	make -k all >"$dir/make" 2>&1 && break
	sed -n -E 's|^(\./)?([a-z_/0-9.]+):([0-9]+):.*error:.*|\2 \3|p' "$dir/make" |
		awk '{ for (i = -1; i <= 1; i++) print $1 ":" $2 + i }' >>"$dir/without"
done
if ! make all >"$dir/make" 2>&1; then
	tail -n 20 "$dir/make"
	restore
	echo "not ok the tree with faults is built"
	exit 1
fi
cp build/gcc-gpu0/boreside "$dir/boreside"
restore
BORESIDE=$dir/boreside
echo "# $(wc -l <"$dir/list") faults in $(wc -l <"$dir/sources") sources, seed $seed"

# ---- protocols, a recording of each, and its image without a fault ----

cd "$dir" || exit 1
lines='method = "cartesian"; matrix = [40, 36]; encoded = [40, 36, 1]; samples = 40;'
lines="$lines readouts = \"header\"; readouts_max = 36;"
spokes='matrix = [40, 40]; coils = 3; samples = 80; readouts = 64;'
spokes="$spokes gridding: { accuracy = 1e-3; }; trajectory: { type = \"radial2d\"; };"
apart='image: { combine = "none"; output = "complex"; };'
sed "s/LINES/$lines/; s/SPOKES/$spokes/; s/APART/$apart/" "$here/faults.cfg" >whole.cfg
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
	(timeout 60 "$BORESIDE" recon -c first.cfg -p "$1" "$1.h5" -o "$2.cfl") >/dev/null 2>&1 &&
		[ -s "$2.cfl" ]
}
declare -A allowed
for p in $(sed -n 's/^\t{ name = "\([a-z]*\)"; .*/\1/p' site.cfg); do
	image "$p" "sound_$p" || { echo "not ok an image of $p"; exit 1; }
	said=$("$BORESIDE" selftest -c site.cfg -p "$p" 2>&1)
	allowed[$p]=$(echo "$said" | sed -n 's/.*passed: off by .*, \(.*\) is allowed.*/\1/p')
	[ -n "${allowed[$p]}" ] || { echo "not ok the self-test of $p: $said"; exit 1; }
done

# of its two tests the fit allows more; its first step allows what ls's does
allowed[exact]=${allowed[ls]}

# ---- one after the other ----

# changes PROTOCOL: the image is another one, by more than ten times what may be off
changes() {
	image "$1" other || return 1
	local most by=--max-unscaled
	most=$(awk -v t="${allowed[$1]}" 'BEGIN { print 10 * t }')
	case $1 in ls | exact | sense) by=--max-nrmse ;; esac # but for the step's size
	! "$BORESIDE" compare $by "$most" other.cfl "sound_$1.cfl" >/dev/null 2>&1
}
found=0 changed=0 tried=0
numbers=("$@")
[ $# -gt 0 ] || mapfile -t numbers < <(cut -d ' ' -f 1 list | while read -r n; do
	echo "$(echo "$seed $n" | sha256sum | cut -c 1-16) $n"
done | sort | cut -d ' ' -f 2)
for n in "${numbers[@]}"; do
	[ $found -lt "$most" ] || break
	read -r _ source line what < <(grep "^$n " list)
	tried=$((tried + 1))
	p=$(sed -n "s|^$source ||p" sources)
	export PLANTED=$n
	if changes "$p"; then
		changed=$((changed + 1))
		if (timeout 60 "$BORESIDE" selftest -c site.cfg -p "$p") >said 2>&1; then
			echo "# $n, $source:$line, $what, by $p: $(tail -n 1 said)"
		else
			found=$((found + 1))
		fi
	fi
	unset PLANTED
done
words="$found of $changed planted faults that change an image were found ($tried tried)"
if [ $((10 * found)) -lt $((9 * changed)) ] || { [ $# -eq 0 ] && [ $found -lt "$most" ]; }; then
	echo "not ok $words"
	exit 1
fi
echo "ok $words"
