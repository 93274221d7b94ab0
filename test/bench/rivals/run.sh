#!/bin/bash
# test/bench/rivals/run.sh [-b BUILD] [-o FOLDER] [-t THREADS]: ours and the rivals on this machine,
# in one sitting: FOLDER/rivals.md and FOLDER/*.json, of which test/bench/results has the tables.
#   -b  a folder with test/bench/bench (default build/gcc-gpu1)   -o  default build/rivals-report
# cuFINUFFT and FINUFFT are PyPI's wheels, put into build/rivals unless CUFINUFFT and FINUFFT name
# their libraries; BART is the one on the PATH (Debian: apt install bart) unless BART names one.
# What is not there is said, and its columns stay empty. ENERGY: seconds of a row (1; 0: none);
# DRAWN: a seed, for 20 gridding rows more; RIVAL_ACCURACY: what cuFINUFFT is asked for (1e-3).
set -u
here=$(cd "$(dirname "$0")" && pwd) build=build/gcc-gpu1 out=build/rivals-report threads=2
while getopts b:o:t: option; do
	case $option in
	b) build=$OPTARG ;;
	o) out=$OPTARG ;;
	t) threads=$OPTARG ;;
	*) sed -n '2,9s/^# //p' "$0"; exit 2 ;;
	esac
done
bench=$build/test/bench/bench wheels=build/rivals
[ -x "$bench" ] || { echo "$bench is not there: make tools, first"; exit 1; }
mkdir -p "$out"

# the library WHERE below the wheels, put there first where need be
wheel() { # wheel WHERE PACKAGE...
	local where=$wheels/$1
	shift
	[ -e "$where" ] || python3 -m pip install -q --no-deps --target "$wheels" "$@" >&2
	[ -e "$where" ] && realpath "$where"
}
if [ -z "${CUFINUFFT:-}" ] && [ -e /dev/nvidiactl ]; then
	CUFINUFFT=$(wheel cufinufft/libcufinufft.so cufinufft==2.5.1 nvidia-cufft-cu12 \
		nvidia-cuda-runtime-cu12)
	libraries=$(realpath -m "$wheels/nvidia")
	LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}:$libraries/cufft/lib:$libraries/cuda_runtime/lib
	export LD_LIBRARY_PATH
fi
: "${FINUFFT:=$(wheel finufft/libfinufft.so finufft==2.5.1)}" "${BART:=$(command -v bart)}"
export CUFINUFFT=${CUFINUFFT:-} FINUFFT BART ENERGY=${ENERGY:-1}

"$bench" gpu --seconds 4 --json "$out/gpu.json" >"$out/gpu.md" 2>"$out/said.txt"
"$bench" nufft --threads "$threads" --json "$out/nufft.json" >"$out/host.txt" 2>>"$out/said.txt"
"$bench" ls --rows 'sense*' --threads "$threads" --json "$out/ls.json" >>"$out/host.txt" \
	2>>"$out/said.txt"
{
	sed -n '/copy\|^mJ\|^cuFINUFFT\|^no GPU/p' "$out/gpu.md"
	sed -n '/^FINUFFT/p' "$out/host.txt"
	echo
	python3 "$here/table.py" "$out"/*.json
} >"$out/rivals.md"
cat "$out/rivals.md"
